// The metrics of GLUE against values computed by hand.
#include "core/train/label_metrics.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/train/prediction.h"

namespace inlier {
namespace {

at::Tensor Classes(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }
at::Tensor Numbers(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

TEST(LabelMetricsTest, TwoClasses) {
  // tp 2, fp 1, fn 1, tn 2.
  const at::Tensor predicted = Classes({1, 1, 1, 0, 0, 0}), truth = Classes({1, 1, 0, 1, 0, 0});
  EXPECT_DOUBLE_EQ(F1(predicted, truth, 2), 4.0 / 6);
  EXPECT_DOUBLE_EQ(MatthewsCorrelation(predicted, truth, 2), (2.0 * 2 - 1 * 1) / 9);
}

TEST(LabelMetricsTest, PredictingOneClassScoresNothing) {
  const at::Tensor predicted = Classes({0, 0, 0, 0}), truth = Classes({0, 1, 0, 1});
  EXPECT_EQ(F1(predicted, truth, 2), 0);
  EXPECT_EQ(MatthewsCorrelation(predicted, truth, 2), 0);
  EXPECT_DOUBLE_EQ(F1(Classes({1, 1, 1, 1}), truth, 2), 2.0 * 2 / (2 * 2 + 2));
}

TEST(LabelMetricsTest, ThreeClassesOfWhichAFourthNeverOccurs) {
  const at::Tensor predicted = Classes({0, 2, 1, 0, 0, 1}), truth = Classes({0, 1, 2, 0, 1, 2});
  // Class 0: 2 * 2 / (2 * 2 + 1), the others 0; over the three that occur.
  EXPECT_DOUBLE_EQ(F1(predicted, truth, 4), 0.8 / 3);
  // c 2, s 6, p (3, 2, 1), t (2, 2, 2): (12 - 12) / ... = 0.
  EXPECT_DOUBLE_EQ(MatthewsCorrelation(predicted, truth, 4), 0);
  const at::Tensor better = Classes({0, 1, 1, 0, 0, 2});
  // c 4, s 6, p (3, 2, 1), t (2, 2, 2): (24 - 12) / sqrt((36 - 14) (36 - 12)).
  EXPECT_DOUBLE_EQ(MatthewsCorrelation(better, truth, 4), 12 / std::sqrt(22.0 * 24.0));
}

TEST(LabelMetricsTest, CorrelationsOfNumbers) {
  const at::Tensor x = Numbers({1, 2, 3, 4}), y = Numbers({2, 4, 6, 9});
  EXPECT_DOUBLE_EQ(PearsonCorrelation(x, Numbers({-1, -2, -3, -4})), -1);
  // dx (-1.5, -0.5, 0.5, 1.5), dy (-3.25, -1.25, 0.75, 3.75): 11.5 / sqrt(5 * 26.75).
  EXPECT_DOUBLE_EQ(PearsonCorrelation(x, y), 11.5 / std::sqrt(5 * 26.75));
  EXPECT_DOUBLE_EQ(SpearmanCorrelation(x, y), 1) << "the order is the same";
  // Ranks of (1, 1, 2, 0) are (2.5, 2.5, 4, 1): dx (-1.5, -0.5, 0.5, 1.5), dr (0, 0, 1.5, -1.5).
  EXPECT_DOUBLE_EQ(SpearmanCorrelation(x, Numbers({1, 1, 2, 0})), -1.5 / std::sqrt(5 * 4.5));
}

TEST(LabelMetricsTest, ConstantsHaveNoCorrelation) {
  EXPECT_TRUE(std::isnan(PearsonCorrelation(Numbers({1, 2, 3}), Numbers({5, 5, 5}))));
  EXPECT_TRUE(std::isnan(SpearmanCorrelation(Numbers({4, 4}), Numbers({1, 2}))));
  EXPECT_TRUE(std::isnan(PearsonCorrelation(Numbers({1}), Numbers({1}))));
}

TEST(LabelMetricsTest, ScoresJoinTheBatches) {
  ScoreSum classes;
  classes.Add({.loss = 1,
               .targets = 3,
               .correct = 2,
               .classes = 2,
               .predicted = Classes({1, 1, 1}),
               .truth = Classes({1, 1, 0})},
              3);
  classes.Add(
      {.loss = 3, .targets = 1, .correct = 0, .classes = 2, .predicted = Classes({0}), .truth = Classes({1})},
      1);
  const Scores of_classes = classes.Summary();
  EXPECT_DOUBLE_EQ(of_classes.loss, 1.5);
  EXPECT_DOUBLE_EQ(*of_classes.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(*of_classes.f1, 4.0 / 6);
  EXPECT_TRUE(of_classes.matthews_correlation.has_value());
  EXPECT_FALSE(of_classes.perplexity.has_value()) << "that of text";
  ScoreSum numbers;
  numbers.Add({.loss = 1, .targets = 2, .predicted = Numbers({1, 2}), .truth = Numbers({3, 6})}, 2);
  numbers.Add({.loss = 1, .targets = 1, .predicted = Numbers({3}), .truth = Numbers({9})}, 1);
  EXPECT_DOUBLE_EQ(*numbers.Summary().pearson_correlation, 1);
  EXPECT_FALSE(numbers.Summary().accuracy.has_value());
}

}  // namespace
}  // namespace inlier
