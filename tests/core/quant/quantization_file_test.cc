#include "core/quant/quantization_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace inlier {
namespace {

absl::StatusOr<std::string> FileOf(const std::string& text) {
  v1::QuantizationSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return QuantizationFile(spec, {});
}

TEST(QuantizationFileTest, OnlyIntegersRoundedToTheNearestHaveAForm) {
  EXPECT_TRUE(FileOf("weights { group_size: 32 } activations {} absmax {}").ok());
  for (const auto& [text, field] :
       {std::pair("weights { format: NVFP4 } absmax {}", "quantization.weights.format"),
        {"activations { format: FP8_E4M3 } absmax {}", "quantization.activations.format"},
        {"weights {} absmax {} rotation {}", "quantization.rotation"},
        {"weights {} activations {} absmax {} smoothing {}", "quantization.smoothing"},
        {"weights {} zeropoint {} gptq {}", "quantization.gptq"},
        {"weights {} zeropoint {} awq {}", "quantization.awq"},
        {"weights {} reference {} kv_cache {}", "quantization.kv_cache"}}) {
    const absl::Status status = FileOf(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(field));
  }
}

}  // namespace
}  // namespace inlier
