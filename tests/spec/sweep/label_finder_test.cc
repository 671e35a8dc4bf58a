#include "spec/sweep/label_finder.h"

#include "gmock/gmock.h"
#include "grid_points.h"
#include "gtest/gtest.h"
#include "spec/schema/struct_value.h"
#include "spec/schema/yaml_reader.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

absl::StatusOr<SweepGrid> GridOfLabels(const std::string& axes) {
  const auto sweep =
      ReadYaml<v1::SweepSpec>(std::string("{name: s, base: ") + kTinyBert + ", " + axes + "}", "s.yaml");
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  return SweepGrid::Create(*sweep);
}
std::vector<std::string> PointsOfLabels(const std::string& axes) {
  const auto grid = GridOfLabels(axes).value();
  return AllPoints(grid);
}
std::string ErrorOfLabels(const std::string& axes) {
  return std::string(GridOfLabels(axes).status().message());
}

TEST(LabelFinderTest, TheTextComesFirstAndThenTheOnlyEqualNumber) {
  const LabelFinder finder({"1e-3", "0.001", "2e-3", "007", "x"});
  EXPECT_EQ(finder.Find("1e-3"), 0u);
  EXPECT_EQ(finder.Find("0.001"), 1u);
  EXPECT_EQ(finder.Find("1.0e-3"), std::nullopt);
  EXPECT_EQ(finder.Find("0.002"), 2u);
  EXPECT_EQ(finder.Find("007"), 3u);
  EXPECT_EQ(finder.Find("7"), std::nullopt);
  EXPECT_EQ(finder.Find("y"), std::nullopt);
  EXPECT_EQ(WithLabels(WrittenValue("0.002"), &finder).string_value(), "2e-3");
  EXPECT_EQ(WithLabels(WrittenValue("3"), &finder).number_value(), 3) << "the caller reports it";
  EXPECT_EQ(WithLabels(WrittenValue("2e-3"), nullptr).number_value(), 0.002);
}

// People write labels so; what is written finds the label, else the number does.
TEST(LabelFinderTest, LabelsThatLookLikeNumbersAreFoundAsWritten) {
  constexpr char kAxes[] =
      "axes: [{name: rate, variants: [{label: 1e-3, set: {dropout: 0.1}}, {label: 1.0e-2, set: {dropout: "
      "0.2}}, "
      "{label: 007, set: {dropout: 0.3}}]}, {field: seed, values: [1, 2], when: {rate: ";
  const auto first_axis = [&](const std::string& when, const std::string& exclude) {
    return PointsOfLabels(kAxes + when + "}}], exclude: [" + exclude + "]");
  };
  EXPECT_THAT(first_axis("1e-3", ""), ::testing::ElementsAre("rate=1e-3 seed=1", "rate=1e-3 seed=2",
                                                             "rate=1.0e-2 seed=", "rate=007 seed="));
  EXPECT_EQ(first_axis("0.001", ""), first_axis("1e-3", ""));
  EXPECT_EQ(first_axis("'1e-3'", ""), first_axis("1e-3", ""));
  EXPECT_THAT(
      first_axis("[007, 1.0e-2]", "{rate: 1.0e-2, seed: 2}"),
      ::testing::ElementsAre("rate=1e-3 seed=", "rate=1.0e-2 seed=1", "rate=007 seed=1", "rate=007 seed=2"));
  EXPECT_THAT(ErrorOfLabels(std::string(kAxes) + "7}}]"),
              ::testing::HasSubstr("\"7\" is not a label of axis rate"));
}

// Two labels of one number: each is found as it is written, and a third spelling names neither.
TEST(LabelFinderTest, LabelsOfOneNumberAreToldApart) {
  constexpr char kAxes[] =
      "axes: [{name: rate, variants: [{label: 1e-3, set: {dropout: 0.1}}, {label: 0.001, set: {dropout: "
      "0.2}}]}, "
      "{field: seed, values: [1], when: {rate: ";
  EXPECT_THAT(PointsOfLabels(std::string(kAxes) + "1e-3}}]"),
              ::testing::ElementsAre("rate=1e-3 seed=1", "rate=0.001 seed="));
  EXPECT_THAT(PointsOfLabels(std::string(kAxes) + "0.001}}]"),
              ::testing::ElementsAre("rate=1e-3 seed=", "rate=0.001 seed=1"));
  EXPECT_THAT(ErrorOfLabels(std::string(kAxes) + "1.0e-3}}]"),
              ::testing::HasSubstr("is not a label of axis rate"));
}

}  // namespace
}  // namespace inlier
