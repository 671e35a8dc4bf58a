#include "cli/output.h"

#include "gtest/gtest.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {
namespace {

TEST(TextTableTest, NumbersAreAlignedRightAndTextLeft) {
  TextTable table({"worker", "slots"});
  table.AddRow({"a", "2"});
  table.AddRow({"long-name", "128"});
  EXPECT_EQ(table.ToString(),
            "worker     slots\n"
            "a              2\n"
            "long-name    128\n");
}

TEST(TextTableTest, WidthCountsCharactersNotBytes) {
  TextTable table({"x", "y"});
  table.AddRow({"±", "b"});
  table.AddRow({"ab", "c"});
  EXPECT_EQ(table.ToString(),
            "x   y\n"
            "±   b\n"
            "ab  c\n");
}

TEST(JsonTest, ASpecificationReadsBackAsTheSame) {
  v1::SweepSpec sweep;
  sweep.set_name("s");
  sweep.add_axes()->set_field("seed");
  const std::string json = SpecToJson(sweep);
  EXPECT_EQ(json.find("variants"), std::string::npos) << json;
  EXPECT_EQ(json.find("priority"), std::string::npos) << json;
  EXPECT_NE(ToJson(sweep).find("priority"), std::string::npos);
}

}  // namespace
}  // namespace inlier
