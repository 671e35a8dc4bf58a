// Microscaling formats, tiles of FP8 and KIVI's cache against the authors' code: group formats of tests/golden/README-models.md.
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/nn/attention/self_attention.h"
#include "core/quant/make_quantization.h"
#include "core/quant/number_format.h"
#include "core/quant/part_grid.h"
#include "tests/core/quant/tiny_decoder.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

v1::NumberFormat FormatNamed(const std::string& name) {
  v1::NumberFormat format = v1::INTEGER;
  EXPECT_TRUE(v1::NumberFormat_Parse(name, &format)) << name;
  return format;
}

// Bit for bit: scales are powers of two.
void CompareMicroscaling(GoldenReport& report, const GoldenCase& golden) {
  GoldenComparison compare(report, golden, at::kFloat);
  for (const std::string& name : golden.KeysUnder("out/")) {
    const PartGrid grid = GridOfPart(golden.Tensor("input/x"),
                                     {.bits = 8, .scope = ScaleScope::kRow, .format = FormatNamed(name)},
                                     LinearQuantizationOptions::Grid::kAbsmax);
    compare.Tensor("out/" + name, RoundToPart(golden.Tensor("input/x"), grid), {});
  }
}

void CompareTiles(GoldenReport& report, const GoldenCase& golden, CaseSettings& config) {
  LinearQuantizationOptions::Part part{.bits = 8,
                                       .scope = ScaleScope::kRow,
                                       .group_size = config.At("group_size"),
                                       .format = FormatNamed(config.At("format"))};
  LinearQuantizationOptions::Part of_weight = part;
  of_weight.group_rows = config.At("group_rows");
  GoldenComparison compare(report, golden, at::kFloat);
  const auto rounded = [&golden](const char* key, const LinearQuantizationOptions::Part& options) {
    const at::Tensor x = golden.Tensor(key);
    return RoundToPart(x, GridOfPart(x, options, LinearQuantizationOptions::Grid::kAbsmax));
  };
  compare.Tensor("out/weight", rounded("input/weight", of_weight), {});
  compare.Tensor("out/x", rounded("input/x", part), {});
}

// Keeps keys and values as the quantization gives them.
class RoundedCache : public ActivationTap {
 public:
  explicit RoundedCache(Quantization& quantization) : quantization_(quantization) {}
  at::Tensor OnKeys(const std::string& site, const at::Tensor& x) override {
    return keys = quantization_.OnKeys(site, x);
  }
  at::Tensor OnValues(const std::string& site, const at::Tensor& x) override {
    return values = quantization_.OnValues(site, x);
  }
  CacheWindow WindowOf(std::int64_t tokens) override { return quantization_.WindowOf(tokens); }
  at::Tensor keys, values;

 private:
  Quantization& quantization_;
};

void CompareKivi(GoldenReport& report, const GoldenCase& golden, CaseSettings& config) {
  const auto quantization = MakeQuantization(
      QuantizationOf(absl::StrCat("kv_cache { bits: ", config.At("bits").get<int>(),
                                  " kivi { group_size: ", config.At("group_size").get<int>(),
                                  " residual: ", config.At("residual").get<int>(), " } } absmax {}")),
      v1::ModelSpec::kLlama);
  ASSERT_TRUE(quantization.ok()) << quantization.status();
  ASSERT_TRUE((*quantization)->Freeze().ok());
  torch::nn::Module root;
  const SelfAttentionOptions options{.hidden_size = config.At("width"),
                                     .heads = config.At("heads"),
                                     .kv_heads = config.At("heads"),
                                     .linear = {.bias = false},
                                     .softmax = {},
                                     .gate = {}};
  const SelfAttention attention(ParameterScope(root), {.projections = {"q_proj", "k_proj", "v_proj"}},
                                options);
  ASSERT_TRUE(FillParameters(root, golden, at::kDouble));
  const at::NoGradGuard no_grad;
  const at::Tensor x = golden.Tensor("input/x");
  FrameOptions frame;
  frame.causal = true;
  RoundedCache cache(**quantization);
  const at::Tensor context =
      attention(x, MakeAttentionFrame(frame, {}, x.size(1), x.options()), {.tap = &cache});
  GoldenComparison compare(report, golden, at::kDouble);
  compare.Tensor("out/context", context, {.absolute = 1e-13, .per_magnitude = true});
  for (const auto& [key, tensor] :
       {std::pair("out/keys", cache.keys), std::pair("out/values", cache.values)}) {
    const at::Tensor expected = golden.Tensor(key);
    compare.Tensor(key, tensor.slice(1, 0, expected.size(1)), {.absolute = 1e-14, .per_magnitude = true});
  }
}

TEST(FormatsGoldenTest, AuthorsCode) {
  GoldenReport report("formats");
  for (const GoldenCase& golden : FindGoldenCases("formats")) {
    CaseSettings config(golden, "config");
    if (golden.name == "microscaling") CompareMicroscaling(report, golden);
    if (golden.name == "tiles") CompareTiles(report, golden, config);
    if (golden.name.starts_with("kivi")) CompareKivi(report, golden, config);
    config.Describes({"tokens"});
    report.Accepts(golden, All({FileIsUsed(golden, {"config"}), config.AllUsed()}));
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
