#include "cli/sweeps/sweep_estimate.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

SweepGrid Grid(const std::string& axes) {
  const auto spec = ReadSweepText(
      "name: s\n"
      "base: {model: {bert: {preset: tiny}}, data: {text: {corpus: gcide, sequence_length: 64}}, training: "
      "{steps: 100}}\n"
      "axes:\n" +
          axes,
      "s.yaml");
  EXPECT_TRUE(spec.ok()) << spec.status();
  return SweepGrid::Create(*spec).value();
}

constexpr char kBits[] =
    "- name: bits\n  variants: [{label: float, set: {}}, {label: W8A8, set: {quantization: {weights: {bits: "
    "8}}}}]\n";

TEST(SweepEstimateTest, TrialsThatShareATrainingCountItOnce) {
  const SweepWork work = CountWork(Grid(std::string("- {field: seed, values: [1, 2, 3]}\n") + kBits));
  EXPECT_TRUE(work.whole);
  EXPECT_EQ(work.trainings, 3u);
  EXPECT_EQ(work.evaluations, 6u);
  ASSERT_EQ(work.kinds.size(), 1u);
  EXPECT_EQ(work.kinds.begin()->second.steps, 300);
}

TEST(SweepEstimateTest, AKindIsItsModelDataAndBatch) {
  EXPECT_EQ(CountWork(Grid("- {field: training.optimizer.adamw.learning_rate, values: [0.001, 0.002]}\n"))
                .kinds.size(),
            1u);
  EXPECT_EQ(CountWork(Grid("- {field: model.bert.layers, values: [1, 2]}\n")).kinds.size(), 2u);
  EXPECT_EQ(CountWork(Grid("- {field: training.batch_size, values: [8, 16]}\n")).kinds.size(), 2u);
  EXPECT_EQ(WorkKind("no json"), "");
}

TEST(SweepEstimateTest, TheTimeIsKnownWhereThePaceOfEveryKindIs) {
  const SweepWork work =
      CountWork(Grid(std::string("- {field: training.batch_size, values: [8, 16]}\n") + kBits));
  std::map<std::string, Pace> paces;
  const std::string first = work.kinds.begin()->first, second = work.kinds.rbegin()->first;
  paces[first] = {.step_seconds = 0.1, .evaluation_seconds = 2, .trainings = 4, .evaluations = 4};
  EXPECT_FALSE(SecondsOf(work, paces).has_value());
  paces[second] = {.step_seconds = 0.2, .evaluation_seconds = 3, .trainings = 1, .evaluations = 1};
  EXPECT_DOUBLE_EQ(*SecondsOf(work, paces), 100 * 0.1 + 2 * 2 + 100 * 0.2 + 2 * 3);
}

}  // namespace
}  // namespace inlier
