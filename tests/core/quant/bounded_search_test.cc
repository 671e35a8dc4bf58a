#include "core/quant/bounded_search.h"

#include <gtest/gtest.h>

#include <cmath>

namespace inlier {
namespace {

TEST(BoundedSearchTest, AParabolaIsFoundAtOnce) {
  int evaluations = 0;
  const BoundedMinimum found = MinimizeBounded(
      [&](double x) {
        ++evaluations;
        return 3.0 + (x - 1.25) * (x - 1.25);
      },
      -4, 9);
  EXPECT_NEAR(found.at, 1.25, 1e-5);
  EXPECT_NEAR(found.value, 3.0, 1e-10);
  EXPECT_LT(evaluations, 15);
}

TEST(BoundedSearchTest, AKinkIsFound) {
  EXPECT_NEAR(MinimizeBounded([](double x) { return std::abs(x - 0.7); }, 0, 2).at, 0.7, 2e-5);
}

TEST(BoundedSearchTest, AMonotoneFunctionEndsAtItsBound) {
  const BoundedMinimum found = MinimizeBounded([](double x) { return x; }, 2, 5);
  EXPECT_GT(found.at, 2);
  EXPECT_NEAR(found.at, 2, 2e-5);
}

TEST(BoundedSearchTest, NothingOutsideTheBoundsIsEvaluated) {
  MinimizeBounded(
      [](double x) {
        EXPECT_GT(x, -1);
        EXPECT_LT(x, 3);
        return std::cos(5 * x);
      },
      -1, 3);
}

TEST(BoundedSearchTest, TheNumberOfEvaluationsIsBounded) {
  int evaluations = 0;
  MinimizeBounded(
      [&](double x) {
        ++evaluations;
        return evaluations % 2 == 0 ? std::nan("") : -x;
      },
      0, 1e300);
  EXPECT_LE(evaluations, 500);
}

}  // namespace
}  // namespace inlier
