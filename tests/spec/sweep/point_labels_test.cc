#include "spec/sweep/point_labels.h"

#include "gtest/gtest.h"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/sweep_grid.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

TEST(PointLabelsTest, LabelsAreInTheOrderOfTheAxesWhichHaveTheNamesOfTheGrid) {
  const v1::SweepSpec sweep = *ReadYaml<v1::SweepSpec>(
      "{name: s, base: " + std::string(kTinyBert) +
          ", axes: [{field: attention.softmax.clipped.gamma, values: [-0.1]}, {zip: [seed, training.steps], "
          "values: [[1, 2]]}, "
          "{name: method, variants: [{label: a, set: {}}]}, {field: dropout, name: drop, values: [0]}]}",
      "s.yaml");
  const SweepGrid grid = *SweepGrid::Create(sweep);
  const std::vector<std::string> names = AxisNames(sweep);
  ASSERT_EQ(names.size(), grid.axes().size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], grid.axes()[i].name);
  EXPECT_EQ(LabelsText(grid.At(0)->labels), "gamma=-0.1, seed+steps=1+2, method=a, drop=0");
  google::protobuf::Map<std::string, std::string> labels;
  for (const char* axis : {"method", "drop", "gamma", "other"}) labels[axis] = "x";
  labels["seed+steps"] = "";
  EXPECT_EQ(LabelsText(labels, names), "gamma=x, method=x, drop=x, other=x");
}

}  // namespace
}  // namespace inlier
