#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/decisions/tick.h"
#include "coordinator/state/lookup.h"
#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::HasSubstr;

TEST(OrchestratorSubmitTest, QuantizationAxisTrainsOnceForEachSeed) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("ptq", 2, {8, 6, 4}));
  EXPECT_EQ(harness.Status(sweep).train_stages().total(), 2u);
  EXPECT_EQ(harness.Status(sweep).evaluate_stages().total(), 6u);
  HandWorker worker("w", 1);
  RunAll(harness, worker);
  EXPECT_EQ(harness.orchestrator().state().stats.attempts_started, (std::array<std::uint64_t, 2>{2, 6}));
  const v1::SweepStatus status = harness.Status(sweep);
  EXPECT_EQ(status.state(), v1::COMPLETE);
  EXPECT_EQ(status.trials().succeeded(), 6u);
  EXPECT_EQ(harness.fenced(), 0u);
}

TEST(OrchestratorSubmitTest, KnownTrialsAreCompleteWhenTheirDataAreComparedAndRunNothing) {
  Harness harness;
  HandWorker worker("w", 2);
  harness.Submit(SmallSweep("first", 2, {8, 6}));
  RunAll(harness, worker);
  const auto response = harness.TrySubmit(SmallSweep("second", 2, {8, 6}));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->trials(), 4u);
  EXPECT_EQ(response->trials_known(), 4u);
  const SweepId second = *SweepId::Parse(response->sweep_id());
  CheckData(harness, worker);
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(second).trials().known(), 4u);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);
}

TEST(OrchestratorSubmitTest, NewQuantizationOfATrainedModelOnlyEvaluates) {
  Harness harness;
  HandWorker worker("w", 1);
  harness.Submit(SmallSweep("first", 1, {8}));
  RunAll(harness, worker);
  const SweepId second = harness.Submit(SmallSweep("second", 1, {8, 4}));
  CheckData(harness, worker);
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.desired_size(), 1);
  EXPECT_EQ(reply.desired(0).kind(), v1::EVALUATE_STAGE);
  EXPECT_EQ(reply.desired(0).checkpoint_sha256(), std::string(64, 'a'));
  EXPECT_EQ(SpecOf(reply.desired(0)).quantization().weights().bits(), 4u);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(second).trials().succeeded(), 2u);
  EXPECT_EQ(harness.Status(second).trials().known(), 1u);  // The other was evaluated for it.
  harness.Restart();
  EXPECT_EQ(harness.Status(second).trials().known(), 1u);
}

TEST(OrchestratorSubmitTest, SweepsThatRunAtTheSameTimeShareTheirStages) {
  Harness harness;
  const SweepId first = harness.Submit(SmallSweep("first", 2));
  const SweepId second = harness.Submit(SmallSweep("second", 2));
  HandWorker worker("w", 4);
  RunAll(harness, worker);
  EXPECT_EQ(harness.orchestrator().state().stats.attempts_started, (std::array<std::uint64_t, 2>{2, 2}));
  EXPECT_EQ(harness.Status(first).trials().succeeded(), 2u);
  EXPECT_EQ(harness.Status(second).trials().succeeded(), 2u);
}

TEST(OrchestratorSubmitTest, SameRequestGivesTheSameAnswerAndOtherContentIsRefused) {
  Harness harness;
  const auto first = harness.TrySubmit(SmallSweep("s", 2), "request-1");
  ASSERT_TRUE(first.ok()) << first.status();
  harness.Restart();
  const auto again = harness.TrySubmit(SmallSweep("s", 2), "request-1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString(), first->SerializeAsString());
  EXPECT_TRUE(harness.last().changes.empty());
  const auto other = harness.TrySubmit(SmallSweep("s", 3), "request-1");
  EXPECT_EQ(other.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("use a new request_id"));
}

TEST(OrchestratorSubmitTest, SweepAboveTheLimitIsRefusedWithItsNumberAndTheRemedy) {
  Harness harness;
  const auto response = harness.TrySubmit(SmallSweep("large", 30, {8, 6, 4}), "", 50);
  EXPECT_EQ(response.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(response.status().message()),
              HasSubstr("sweep large has 90 trials, more than the limit of 50"));
  EXPECT_THAT(std::string(response.status().message()), HasSubstr("--yes"));
  EXPECT_TRUE(harness.last().changes.empty());
}

TEST(OrchestratorSubmitTest, LargeGridIsMadeBitByBitAndEndsComplete) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 3;
  options.expand_first = 3;
  options.expand_per_tick = 2;
  options.expand_ahead = 4;
  Harness harness(options);
  const SweepId sweep = harness.Submit(SmallSweep("lazy", 10));
  EXPECT_EQ(harness.orchestrator().state().counts.trials.at(v1::PENDING), 3);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 10u);
  EXPECT_LE(NextDeadline(harness.orchestrator().state()), harness.now().at);
  harness.Tick();
  EXPECT_EQ(harness.orchestrator().state().counts.trials.at(v1::PENDING), 4);
  EXPECT_EQ(NextDeadline(harness.orchestrator().state()), std::nullopt);
  harness.Restart();
  HandWorker worker("w", 2);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 10u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
}

TEST(OrchestratorSubmitTest, InvalidPointFailsAloneWithTheReason) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("invalid", 1);
  *spec.add_axes() = NumberAxis("model.bert.heads", {2, 3});
  const SweepId sweep = harness.Submit(spec);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  HandWorker worker("w", 2);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  // It can never run: a retry leaves it alone.
  EXPECT_EQ(harness.RetrySweep(sweep), 0u);
}

TEST(OrchestratorSubmitTest, ScalesThatAClientSubmitsAreDropped) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("scaled", 1);
  (*spec.mutable_scales())["small"].set_description("smaller");
  const SweepId sweep = harness.Submit(spec);
  const v1::SweepSpec kept =
      StatusOf(harness.orchestrator().state(), sweep, harness.now().at, /*with_spec=*/true).spec();
  EXPECT_EQ(kept.name(), "scaled");
  EXPECT_TRUE(kept.scales().empty());
  // The same request again is still the same.
  EXPECT_EQ(harness.TrySubmit(spec, "request-1")->sweep_id(),
            harness.TrySubmit(spec, "request-1")->sweep_id());
}

TEST(OrchestratorSubmitTest, UnknownSweepIsNotFoundWithTheNearestName) {
  Harness harness;
  harness.Submit(SmallSweep("clipped_softmax", 1));
  const auto found = FindSweep(harness.orchestrator().state(), "cliped_softmax", "");
  EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("did you mean \"clipped_softmax\"?"));
  EXPECT_EQ(*FindSweep(harness.orchestrator().state(), "clipped_softmax", ""), SweepId(1));
  EXPECT_EQ(*FindSweep(harness.orchestrator().state(), "s-1", ""), SweepId(1));
}

}  // namespace
}  // namespace inlier
