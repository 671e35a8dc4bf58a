// The points of a grid as text, for tests that compare them.
#ifndef INLIER_TESTS_SPEC_SWEEP_GRID_POINTS_H_
#define INLIER_TESTS_SPEC_SWEEP_GRID_POINTS_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// "seed=1 bits=8".
inline std::string LabelsOf(const GridPoint& point) {
  std::string text;
  for (const auto& [name, label] : point.labels) text += (text.empty() ? "" : " ") + name + "=" + label;
  return text;
}

// LabelsOf every point, in order.
inline std::vector<std::string> AllPoints(const SweepGrid& grid) {
  std::vector<std::string> points;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    const GridPoint point = grid.At(*index).value();
    EXPECT_EQ(point.index, *index);
    points.push_back(LabelsOf(point));
  }
  return points;
}

}  // namespace inlier

#endif  // INLIER_TESTS_SPEC_SWEEP_GRID_POINTS_H_
