#include "cli/engine_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using ::testing::HasSubstr;

std::string WarningOf(const std::string& base) {
  v1::SweepSpec sweep;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(name: "s" base { )" + base + R"( }
         axes { field: "attention.key_value_bias" values { bool_value: false } values { bool_value: true } })",
                                                            &sweep));
  return EngineWarning(*SweepGrid::Create(sweep));
}

TEST(EngineCheckTest, RowsOfTwoEnginesAreNamedByWhatTheFusedOneLacks) {
  EXPECT_THAT(WarningOf(""),
              HasSubstr("by REFERENCE those with attention.key_value_bias, the others by FUSED"));
  EXPECT_EQ(WarningOf("training { engine: REFERENCE }"), "");
  EXPECT_EQ(WarningOf("training { regularizer { kurtosis { weight: 1 } } }"), "") << "all by REFERENCE";
  for (const std::string part : {"softmax", "gate"}) {
    const std::string script = "attention { " + part + " { script { file: \"/a.pt\" } } }";
    EXPECT_EQ(WarningOf(script), "") << "all by REFERENCE: " << part;
  }
}

}  // namespace
}  // namespace inlier
