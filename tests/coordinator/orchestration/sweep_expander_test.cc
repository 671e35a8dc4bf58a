#include "coordinator/orchestration/sweep_expander.h"

#include <gtest/gtest.h>

#include <set>

#include "proto/spec/sweep_reader.h"
#include "tests/coordinator/orchestration/harness.h"

namespace inlier {
namespace {

SweepExpander Expander(const v1::SweepSpec& sweep, std::uint64_t from = 0) {
  auto grid = SweepGrid::Create(sweep);
  EXPECT_TRUE(grid.ok()) << grid.status();
  return SweepExpander(*std::move(grid), from);
}

TEST(SweepExpanderTest, PointsComeInOrderAndNoMoreThanAskedFor) {
  SweepExpander expander = Expander(SmallSweep("s", 3, {8, 6}));
  const auto first = expander.Next(4);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(first[0].point, 0u);
  EXPECT_EQ(first[3].point, 3u);
  EXPECT_FALSE(expander.exhausted());
  EXPECT_EQ(expander.Next(4).size(), 2u);
  EXPECT_TRUE(expander.exhausted());
  EXPECT_TRUE(expander.Next(4).empty());
}

TEST(SweepExpanderTest, TrialsThatDifferOnlyInQuantizationShareTheirTraining) {
  SweepExpander expander = Expander(SmallSweep("s", 2, {8, 6, 4}));
  std::set<std::string> train, evaluate;
  for (const ExpandedTrial& trial : expander.Next(100)) {
    EXPECT_TRUE(trial.problem.ok()) << trial.problem;
    train.insert(trial.identity.train_fingerprint);
    evaluate.insert(trial.identity.evaluate_fingerprint);
  }
  EXPECT_EQ(train.size(), 2u);
  EXPECT_EQ(evaluate.size(), 6u);
}

TEST(SweepExpanderTest, GoesOnWhereAnEarlierOneStopped) {
  SweepExpander whole = Expander(SmallSweep("s", 3));
  const auto all = whole.Next(100);
  SweepExpander rest = Expander(SmallSweep("s", 3), 2);
  const auto tail = rest.Next(100);
  ASSERT_EQ(tail.size(), 1u);
  EXPECT_EQ(tail[0].identity.evaluate_fingerprint, all[2].identity.evaluate_fingerprint);
}

// Samples are a function of their number: expanded in pieces, from any place, they are the same trials.
TEST(SweepExpanderTest, SamplesInPiecesAreTheSamplesOfTheWhole) {
  v1::SweepSpec sweep = SmallSweep("s", 2);
  sweep.mutable_sampling()->mutable_sobol()->set_trials(20);
  sweep.mutable_axes(0)->set_each(true);
  v1::Axis& rate = *sweep.add_axes();
  rate.set_field("training.optimizer.adamw.learning_rate");
  rate.mutable_range()->set_min(1e-5);
  rate.mutable_range()->set_max(1e-2);
  rate.mutable_range()->set_log(true);
  const auto all = Expander(sweep).Next(100);
  ASSERT_EQ(all.size(), 40u);
  std::set<std::string> trainings;
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    SweepExpander piece = Expander(sweep, next);
    const auto one = piece.Next(1);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[0].identity.rest_json, all[i].identity.rest_json);
    EXPECT_EQ(one[0].labels, all[i].labels);
    next = piece.next_point();
    trainings.insert(one[0].identity.train_fingerprint);
  }
  EXPECT_EQ(trainings.size(), 40u);
}

TEST(SweepExpanderTest, InvalidPointBecomesATrialWithItsProblem) {
  v1::SweepSpec sweep = SmallSweep("s", 1);
  // Each value is allowed by itself; at 3 heads the width of 128 cannot be shared out.
  *sweep.add_axes() = NumberAxis("model.bert.heads", {2, 3});
  SweepExpander expander = Expander(sweep);
  const auto trials = expander.Next(10);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_TRUE(trials[0].problem.ok()) << trials[0].problem;
  EXPECT_EQ(trials[1].problem.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(trials[1].identity.train_fingerprint.empty());
}

// What is made before the turn is what would be made in it, piece by piece and from a point on.
TEST(SweepExpanderTest, PreparedTrialsAreTheSameTrials) {
  const v1::SweepSpec sweep = SmallSweep("s", 3, {8, 6});
  SweepExpander plain = Expander(sweep);
  const auto expected = plain.Next(100);
  const auto prepared = CheckedExpander(sweep, 6);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  std::unordered_set<std::uint64_t> taken = {1, 4};
  std::vector<ExpandedTrial> trials;
  while (!(*prepared)->exhausted()) {
    for (ExpandedTrial& trial : (*prepared)->Next(2, taken, 1)) trials.push_back(std::move(trial));
  }
  EXPECT_TRUE(taken.empty());
  ASSERT_EQ(trials.size(), 4u);
  const std::size_t numbers[] = {0, 2, 3, 5};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const ExpandedTrial& same = expected[numbers[i]];
    EXPECT_EQ(trials[i].point, same.point);
    EXPECT_EQ(trials[i].labels, same.labels);
    EXPECT_EQ(trials[i].spec, same.spec);
    EXPECT_EQ(trials[i].steps, same.steps);
    EXPECT_EQ(trials[i].identity.train_fingerprint, same.identity.train_fingerprint);
    EXPECT_EQ(trials[i].identity.evaluate_fingerprint, same.identity.evaluate_fingerprint);
    EXPECT_EQ(trials[i].identity.rest_json, same.identity.rest_json);
  }
}

// Trainings of 1 to `most` steps: as many groups of the same field.
v1::SweepSpec SweepOfLengths(int most) {
  v1::SweepSpec sweep = SmallSweep("s", 1);
  std::vector<double> steps;
  for (int i = 1; i <= most; ++i) steps.push_back(i);
  *sweep.add_axes() = NumberAxis("training.steps", steps);
  return sweep;
}

// Groups are remembered from sweep to sweep, and forgotten where there were many.
TEST(SweepExpanderTest, WhatEarlierSweepsHadDoesNotChangeATrial) {
  const v1::SweepSpec sweep = SweepOfLengths(50);
  SweepExpander plain = Expander(sweep);
  const auto expected = plain.Next(100);
  for (int sitting = 0; sitting < 3; ++sitting) {
    const auto prepared = CheckedExpander(sweep, 100);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const auto trials = (*prepared)->Next(100);
    ASSERT_EQ(trials.size(), expected.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      EXPECT_EQ(trials[i].identity.evaluate_fingerprint, expected[i].identity.evaluate_fingerprint);
      ASSERT_EQ(trials[i].identity.groups.size(), expected[i].identity.groups.size());
      for (std::size_t group = 0; group < trials[i].identity.groups.size(); ++group) {
        const auto &ours = trials[i].identity.groups[group], &theirs = expected[i].identity.groups[group];
        EXPECT_EQ(ours ? *ours : "", theirs ? *theirs : "");
      }
    }
  }
}

TEST(SweepExpanderTest, WhatIsRememberedIsBoundedAndForgettingChangesNothing) {
  const v1::SweepSpec sweep = SweepOfLengths(50);
  IdentityWriter all, none;
  for (const ExpandedTrial& trial : Expander(sweep).Next(100)) {
    v1::TrialSpec spec;
    ASSERT_TRUE(spec.ParseFromString(trial.spec));
    all.Read(spec, trial.spec);
    none.Read(spec, trial.spec);
    EXPECT_EQ(all.Identity().evaluate_fingerprint, trial.identity.evaluate_fingerprint);
    EXPECT_EQ(none.Identity().evaluate_fingerprint, trial.identity.evaluate_fingerprint);
    none.Trim(0);
    EXPECT_EQ(none.RememberedBytes(), 0u);
  }
  const std::size_t before = all.RememberedBytes();
  EXPECT_GT(before, 50u * 256);
  all.Trim(before);
  EXPECT_EQ(all.RememberedBytes(), before);
  all.Trim(before - 1);  // Those of the field that varies go.
  EXPECT_LT(all.RememberedBytes(), before / 2);
  EXPECT_GT(all.RememberedBytes(), 0u);
}

TEST(SweepExpanderTest, ACheckedExpanderSaysWhatACheckedGridSays) {
  v1::SweepSpec wrong = SmallSweep("s", 1);
  *wrong.add_axes() = NumberAxis("model.bert.heads", {2, 3});
  const absl::Status reason = CheckedGrid(wrong).status();
  ASSERT_FALSE(reason.ok());
  for (const std::uint64_t at_once : {0, 100}) EXPECT_EQ(CheckedExpander(wrong, at_once).status(), reason);
  // All that is wrong at once, as well where the form is.
  wrong.mutable_table()->add_rows("nothing");
  const absl::Status both = CheckedGrid(wrong).status();
  ASSERT_GT(both.message().size(), reason.message().size());
  EXPECT_EQ(CheckedExpander(wrong, 100).status(), both);
  // The points that a sampling draws may miss the end of a range that is wrong.
  v1::SweepSpec sampled = SmallSweep("s", 1);
  sampled.mutable_sampling()->mutable_sobol()->set_trials(1);
  sampled.mutable_axes(0)->set_each(true);
  v1::Axis& heads = *sampled.add_axes();
  heads.set_field("model.bert.heads");
  heads.mutable_range()->set_min(2);
  heads.mutable_range()->set_max(3);
  const absl::Status at_end = CheckedGrid(sampled).status();
  ASSERT_FALSE(at_end.ok());
  EXPECT_EQ(CheckedExpander(sampled, 100).status(), at_end);
}

TEST(SweepExpanderTest, LabelsSurviveTheirJson) {
  const std::vector<std::pair<std::string, std::string>> labels = {{"b", "1\"2"}, {"a", "x"}};
  EXPECT_EQ(LabelsFromJson(LabelsJson(labels)), labels);
  EXPECT_TRUE(LabelsFromJson("[1]").empty());
  EXPECT_TRUE(LabelsFromJson("").empty());
}

TEST(SweepExpanderTest, HugeGridCostsOnlyWhatIsAskedFor) {
  v1::SweepSpec sweep = SmallSweep("s", 1);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  sweep.mutable_axes(0)->CopyFrom(NumberAxis("seed", values));
  for (double& value : values) value = 1 + value;
  *sweep.add_axes() = NumberAxis("training.steps", values);
  *sweep.add_axes() = NumberAxis("evaluation.mask_seed", values);
  SweepExpander expander = Expander(sweep);
  EXPECT_EQ(expander.Next(3).size(), 3u);
  EXPECT_EQ(expander.next_point(), 3u);
}

}  // namespace
}  // namespace inlier
