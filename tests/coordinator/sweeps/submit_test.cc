#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/state/feature.h"
#include "coordinator/state/lookup.h"
#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

using OrchestratorSubmitTest = OneWorkerTest;

TEST_F(OrchestratorSubmitTest, QuantizationAxisTrainsOnceForEachSeed) {
  sweep = harness.Submit(SmallSweep("ptq", 2, {8, 6, 4}));
  EXPECT_EQ(harness.Status(sweep).train_stages().total(), 2u);
  EXPECT_EQ(harness.Status(sweep).evaluate_stages().total(), 6u);
  RunAll(harness, worker);
  EXPECT_EQ(harness.state().stats.attempts_started, (std::array<std::uint64_t, 2>{2, 6}));
  const v1::SweepStatus status = harness.Status(sweep);
  EXPECT_EQ(status.state(), v1::COMPLETE);
  EXPECT_EQ(status.trials().succeeded(), 6u);
  EXPECT_EQ(harness.fenced(), 0u);
}

TEST_F(OrchestratorSubmitTest, KnownTrialsAreCompleteWhenTheirDataAreComparedAndRunNothing) {
  worker = HandWorker("w", 2);
  harness.Submit(SmallSweep("first", 2, {8, 6}));
  RunAll(harness, worker);
  const auto response = harness.TrySubmit(SmallSweep("second", 2, {8, 6})).value();
  EXPECT_EQ(response.trials(), 4u);
  EXPECT_EQ(response.trials_known(), 4u);
  const SweepId second = *SweepId::Parse(response.sweep_id());
  CheckData(harness, worker);
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(second).trials().known(), 4u);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);
}

TEST_F(OrchestratorSubmitTest, NewQuantizationOfATrainedModelOnlyEvaluates) {
  harness.Submit(SmallSweep("first", 1, {8}));
  RunAll(harness, worker);
  const SweepId second = harness.Submit(SmallSweep("second", 1, {8, 4}));
  CheckData(harness, worker);
  const v1::Assignment assignment = harness.Assigned(worker);
  EXPECT_EQ(assignment.kind(), v1::EVALUATE_STAGE);
  EXPECT_EQ(assignment.checkpoint_sha256(), std::string(64, 'a'));
  EXPECT_EQ(SpecOf(assignment).quantization().weights().bits(), 4u);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(second).trials().succeeded(), 2u);
  EXPECT_EQ(harness.Status(second).trials().known(), 1u);  // The other was evaluated for it.
  harness.Restart();
  EXPECT_EQ(harness.Status(second).trials().known(), 1u);
}

TEST_F(OrchestratorSubmitTest, SweepsThatRunAtTheSameTimeShareTheirStages) {
  const SweepId first = harness.Submit(SmallSweep("first", 2));
  const SweepId second = harness.Submit(SmallSweep("second", 2));
  worker = HandWorker("w", 4);
  RunAll(harness, worker);
  EXPECT_EQ(harness.state().stats.attempts_started, (std::array<std::uint64_t, 2>{2, 2}));
  EXPECT_EQ(harness.Status(first).trials().succeeded(), 2u);
  EXPECT_EQ(harness.Status(second).trials().succeeded(), 2u);
}

TEST_F(OrchestratorSubmitTest, SameRequestGivesTheSameAnswerAndOtherContentIsRefused) {
  const auto first = harness.TrySubmit(SmallSweep("s", 2), "request-1").value();
  harness.Restart();
  const auto again = harness.TrySubmit(SmallSweep("s", 2), "request-1").value();
  EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  EXPECT_TRUE(harness.last().changes.empty());
  EXPECT_THAT(harness.TrySubmit(SmallSweep("s", 3), "request-1"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("use a new request_id")));
}

TEST_F(OrchestratorSubmitTest, SweepAboveTheLimitIsRefusedWithItsNumberAndTheRemedy) {
  const auto response = harness.TrySubmit(SmallSweep("large", 30, {8, 6, 4}), "", 50);
  EXPECT_THAT(response, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("sweep large has 90 trials, more than the limit of 50")));
  EXPECT_THAT(std::string(response.status().message()), HasSubstr("--yes"));
  EXPECT_TRUE(harness.last().changes.empty());
}

TEST_F(OrchestratorSubmitTest, LargeGridIsMadeBitByBitAndEndsComplete) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 3;
  options.expand_first = 3;
  options.expand_per_tick = 2;
  options.expand_ahead = 4;
  harness.RestartAs(options);
  sweep = harness.Submit(SmallSweep("lazy", 10));
  EXPECT_EQ(harness.state().counts.trials.at(v1::PENDING), 3);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 10u);
  EXPECT_LE(NextDeadline(harness.state()), harness.now().at);
  harness.Tick();
  EXPECT_EQ(harness.state().counts.trials.at(v1::PENDING), 4);
  EXPECT_EQ(NextDeadline(harness.state()), std::nullopt);
  harness.Restart();
  worker = HandWorker("w", 2);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 10u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
}

TEST_F(OrchestratorSubmitTest, InvalidPointFailsAloneWithTheReason) {
  v1::SweepSpec spec = SmallSweep("invalid", 1);
  *spec.add_axes() = NumberAxis("model.bert.heads", {2, 3});
  sweep = harness.Submit(spec);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  worker = HandWorker("w", 2);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  // It can never run: a retry leaves it alone.
  EXPECT_EQ(harness.RetrySweep(sweep), 0u);
}

TEST_F(OrchestratorSubmitTest, ScalesThatAClientSubmitsAreDropped) {
  v1::SweepSpec spec = SmallSweep("scaled", 1);
  (*spec.mutable_scales())["small"].set_description("smaller");
  sweep = harness.Submit(spec);
  const v1::SweepSpec kept = harness.Status(sweep, /*with_spec=*/true).spec();
  EXPECT_EQ(kept.name(), "scaled");
  EXPECT_TRUE(kept.scales().empty());
  // The same request again is still the same.
  EXPECT_EQ(harness.TrySubmit(spec, "request-1")->sweep_id(),
            harness.TrySubmit(spec, "request-1")->sweep_id());
}

TEST_F(OrchestratorSubmitTest, UnknownSweepIsNotFoundWithTheNearestName) {
  harness.Submit(SmallSweep("clipped_softmax", 1));
  EXPECT_THAT(FindSweep(harness.state(), "cliped_softmax", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"clipped_softmax\"?")));
  EXPECT_EQ(*FindSweep(harness.state(), "clipped_softmax", ""), SweepId(1));
  EXPECT_EQ(*FindSweep(harness.state(), "s-1", ""), SweepId(1));
}

}  // namespace
}  // namespace inlier
