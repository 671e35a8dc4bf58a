#include "coordinator/store/sweep_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "google/protobuf/util/message_differencer.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/support/hub.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

void ExpectReadBack(const v1::SweepSpec& sweep) {
  const auto json = SweepSpecToJson(sweep).value();
  const auto read = SweepSpecFromJson(json).value();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read, sweep)) << json;
}

TEST(SweepJsonTest, EveryShippedSweepIsReadBackAsItWas) {
  UseHubOfTests(INLIER_SOURCE_DIR);
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(INLIER_SOURCE_DIR) + "/sweeps")) {
    if (file.path().extension() != ".yaml") continue;
    SCOPED_TRACE(file.path().string());
    const auto sweep = ReadSweepFile(file.path()).value();
    ExpectReadBack(sweep);
    ++files;
  }
  EXPECT_GT(files, 3);
}

TEST(SweepJsonTest, EveryKindOfValueIsReadBack) {
  v1::SweepSpec sweep;
  sweep.set_name(
      "a \"name\"\n\\ of Gr\xc3\xb6\xc3\x9f"
      "e");
  v1::Axis& axis = *sweep.add_axes();
  axis.add_values()->set_number_value(-1e-300);
  axis.add_values()->set_bool_value(true);
  axis.add_values()->set_null_value(google::protobuf::NULL_VALUE);
  axis.add_values()->set_string_value("");
  auto& list = *axis.add_values()->mutable_list_value();
  list.add_values()->set_number_value(2000);
  list.add_values()->mutable_list_value();
  auto& group = *axis.add_values()->mutable_struct_value();
  (*group.mutable_fields())["b"].set_number_value(0.1);
  (*group.mutable_fields())["a"].mutable_struct_value();
  v1::Axis& numbers = *sweep.add_axes();
  for (const double number : {1.0, -0.03, 1e300}) numbers.add_values()->set_number_value(number);
  (*sweep.add_exclude()->mutable_match())["seed"].set_number_value(1);
  ExpectReadBack(sweep);
  EXPECT_THAT(*SweepSpecToJson(sweep), HasSubstr(R"([-1e-300,true,null,"",[2000,[]],{)"));
}

TEST(SweepJsonTest, AnEmptySweepIsAnEmptyObject) { EXPECT_EQ(*SweepSpecToJson(v1::SweepSpec()), "{}"); }

TEST(SweepJsonTest, UnknownFieldsAreIgnoredAndOtherTextIsDataLoss) {
  EXPECT_EQ(SweepSpecFromJson(R"({"name":"a","colour":"red"})")->name(), "a");
  EXPECT_EQ(SweepSpecFromJson(R"({"axes":7})").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace inlier
