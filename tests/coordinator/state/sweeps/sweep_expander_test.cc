#include "coordinator/state/sweeps/sweep_expander.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "spec/sweep/point_labels.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

SweepExpander Expander(const v1::SweepSpec& sweep, std::uint64_t from = 0) {
  return SweepExpander(SweepGrid::Create(sweep).value(), from);
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
    train.insert(trial.train->fingerprint);
    evaluate.insert(trial.evaluate.fingerprint);
  }
  EXPECT_EQ(train.size(), 2u);
  EXPECT_EQ(evaluate.size(), 6u);
}

TEST(SweepExpanderTest, EachTrainingHasTheNamesOfItsOwnFiles) {
  v1::SweepSpec sweep = SmallSweep("s", 1);
  v1::Axis& axis = *sweep.add_axes();
  axis.set_name("softmax");
  for (const char* file : {"/a.pt", "/b.pt", ""}) {
    v1::Variant& variant = *axis.add_variants();
    variant.set_label(*file == '\0' ? "own" : file);
    google::protobuf::Value path;
    path.set_string_value(file);
    if (*file != '\0') (*variant.mutable_set()->mutable_fields())["attention.softmax.script.file"] = path;
  }
  std::vector<std::string> names;
  for (const ExpandedTrial& trial : Expander(sweep).Next(100)) names.push_back(*trial.train->names);
  ASSERT_EQ(names.size(), 3u);
  EXPECT_THAT(names[0], HasSubstr("/a.pt"));
  EXPECT_THAT(names[1], HasSubstr("/b.pt"));
  EXPECT_EQ(names[2].find(".pt"), std::string::npos);
}

TEST(SweepExpanderTest, ContinuesWhereAnEarlierOneStopped) {
  SweepExpander whole = Expander(SmallSweep("s", 3));
  const auto all = whole.Next(100);
  SweepExpander rest = Expander(SmallSweep("s", 3), 2);
  const auto tail = rest.Next(100);
  ASSERT_EQ(tail.size(), 1u);
  EXPECT_EQ(tail[0].evaluate.fingerprint, all[2].evaluate.fingerprint);
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
    EXPECT_EQ(one[0].train->json, all[i].train->json);
    EXPECT_EQ(one[0].labels, all[i].labels);
    next = piece.next_point();
    trainings.insert(one[0].train->fingerprint);
  }
  EXPECT_EQ(trainings.size(), 40u);
}

// The coordinator checks some points alone when a sweep is submitted; a tie that fails at another one fails its trial.
TEST(SweepExpanderTest, APointWhoseTieFailsBecomesATrialWithItsProblem) {
  v1::SweepSpec sweep = SmallSweep("s", 1);
  *sweep.add_axes() = NumberAxis("model.bert.heads", {2, 8});
  (*sweep.mutable_tied())["training.gradient_accumulation"] = "4 / model.bert.heads";
  SweepExpander expander = Expander(sweep);
  const auto trials = expander.Next(10);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_TRUE(trials[0].problem.ok()) << trials[0].problem;
  EXPECT_THAT(trials[0].train->json, HasSubstr("\"gradient_accumulation\":2"));
  EXPECT_THAT(
      std::string(trials[1].problem.message()),
      HasSubstr(
          "tied.training.gradient_accumulation: 4 / model.bert.heads with model.bert.heads=8: 0.5 is not a "
          "whole number"));
  EXPECT_EQ(trials[1].train, nullptr);
  EXPECT_THAT(trials[1].spec_json, HasSubstr("\"heads\":8"));
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
  EXPECT_EQ(trials[1].train, nullptr);
  EXPECT_THAT(trials[1].spec_json, HasSubstr("\"heads\":3"));
}

// Points that have a trial already are skipped, a bounded number a call.
TEST(SweepExpanderTest, PointsWithATrialAreSkipped) {
  const v1::SweepSpec sweep = SmallSweep("s", 3, {8, 6});
  const auto expected = Expander(sweep).Next(100);
  SweepExpander expander = Expander(sweep);
  std::unordered_set<std::uint64_t> taken = {1, 4};
  std::vector<ExpandedTrial> trials;
  while (!expander.exhausted()) {
    for (ExpandedTrial& trial : expander.Next(2, taken, 1)) trials.push_back(std::move(trial));
  }
  EXPECT_TRUE(taken.empty());
  ASSERT_EQ(trials.size(), 4u);
  const std::size_t numbers[] = {0, 2, 3, 5};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const ExpandedTrial& same = expected[numbers[i]];
    EXPECT_EQ(trials[i].point, same.point);
    EXPECT_EQ(trials[i].labels, same.labels);
    EXPECT_EQ(trials[i].train->spec, same.train->spec);
    EXPECT_EQ(trials[i].evaluate.spec, same.evaluate.spec);
    EXPECT_EQ(trials[i].steps, same.steps);
    EXPECT_EQ(trials[i].train->fingerprint, same.train->fingerprint);
    EXPECT_EQ(trials[i].evaluate.fingerprint, same.evaluate.fingerprint);
    EXPECT_EQ(trials[i].evaluate.json, same.evaluate.json);
  }
}

TEST(SweepExpanderTest, ConsecutiveTrialsOfOneTrainingShareItsPart) {
  v1::SweepSpec sweep = SmallSweep("s", 2);
  *sweep.add_axes() = NumberAxis("evaluation.mask_seed", {1, 2});
  const auto trials = Expander(sweep).Next(10);
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_EQ(trials[0].train, trials[1].train);
  EXPECT_NE(trials[1].train, trials[2].train);
  EXPECT_EQ(trials[2].train, trials[3].train);
  EXPECT_NE(trials[0].evaluate.fingerprint, trials[1].evaluate.fingerprint);
}

TEST(SweepExpanderTest, LabelsSurviveTheirJson) {
  const std::vector<std::pair<std::string, std::string>> labels = {{"b", "1\"2"}, {"a", "x"}};
  EXPECT_EQ(LabelsFromJson(LabelsJson(labels)), labels);
  EXPECT_TRUE(LabelsFromJson("[1]").empty());
  EXPECT_TRUE(LabelsFromJson("").empty());
}

TEST(SweepExpanderTest, HugeGridCostsOnlyTheRequestedPoints) {
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
