#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/sweep/point_labels.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::seconds;

using OrchestratorRestartTest = OneWorkerTest;

TEST_F(OrchestratorRestartTest, WorkerWithALiveTokenIsAdoptedAndContinues) {
  const Token token = Lease();
  harness.Restart();
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.desired_size(), 1);
  EXPECT_EQ(reply.desired(0).token(), token);
  EXPECT_EQ(reply.stop_size(), 0);
  EXPECT_EQ(harness.state().stats.attempts_adopted, 1u);
  EXPECT_EQ(harness.state().stats.attempts_started[0], 0u);
  harness.Finish(worker, token);
  harness.Finish(worker);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
}

// A program before this one accepted what this one refuses.
TEST_F(OrchestratorRestartTest, ASweepWhoseGridIsRefusedIsStoppedWithTheReason) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 1;
  options.expand_first = 2;
  harness.RestartAs(options);
  const SweepId refused = harness.Submit(SmallSweep("refused", 4));
  const SweepId other = harness.Submit(SmallSweep("other", 4, {6}));
  harness.Query(
      "UPDATE sweep SET spec = json_set(spec, '$.exclude', json('[{\"match\": {\"seed\": [1, 2, 3, 4]}}]')) "
      "WHERE name = 'refused'");
  harness.Crash();
  EXPECT_EQ(harness.Status(refused).state(), v1::ACTIVE);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(refused).state(), v1::STOPPED_BY_FAILURES);
  EXPECT_EQ(harness.Query("SELECT message FROM event WHERE kind = 'sweep_stopped'"),
            "no further trials can be made, edit the sweep: exclude: leaves out every point; remove an "
            "exclusion\n");
  EXPECT_EQ(harness.Status(other).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(other).trials().succeeded(), 4u);
}

TEST_F(OrchestratorRestartTest, LeasesGetAFreshFullTerm) {
  Lease();
  harness.Advance(seconds(15));  // Almost over when the coordinator dies.
  harness.Restart();
  harness.TickAfter(seconds(15));
  EXPECT_EQ(harness.state().leases.size(), 1u);
  harness.TickAfter(seconds(1));
  EXPECT_EQ(harness.state().leases.size(), 0u);
  EXPECT_EQ(harness.state().stats.failures.at(v1::LOST), 1u);
}

TEST_F(OrchestratorRestartTest, EventsCommittedBeforeAreNotTakenAgain) {
  worker.Emit(Lease(), MeasurementEvent("train_loss", 3.5, false));
  ASSERT_TRUE(harness.TrySync(worker.Sync()).ok());  // Committed, but the reply never arrives.
  harness.Restart();
  EXPECT_EQ(harness.Sync(worker).acknowledged_sequence(), 1u);
  EXPECT_EQ(harness.state().stats.events_doubled, 1u);
  EXPECT_EQ(harness.state().stats.measurements, 0u);
}

TEST_F(OrchestratorRestartTest, OutcomeThatWaitedForTheCoordinatorCounts) {
  worker.Finish(Lease());
  harness.Restart();
  const v1::CoordinatorSync reply = harness.Sync(worker);
  EXPECT_EQ(reply.acknowledged_sequence(), 2u);
  ASSERT_EQ(reply.desired_size(), 1);
  EXPECT_EQ(reply.desired(0).kind(), v1::EVALUATE_STAGE);
}

TEST_F(OrchestratorRestartTest, TokensGrowAcrossARestart) {
  Lease(SmallSweep("s", 3), HandWorker("w", 2));
  const Token highest = worker.running().rbegin()->first;
  harness.Restart();
  HandWorker other = harness.Connect("other");
  EXPECT_EQ(OnlyToken(other), highest + 1);
}

TEST_F(OrchestratorRestartTest, GrantThatWasNotCommittedNeverHappened) {
  sweep = harness.Submit(SmallSweep("s", 1));
  Effects lost;
  ASSERT_TRUE(harness.orchestrator().OnSync(worker.Sync(), harness.now(), lost).ok());
  EXPECT_EQ(harness.Status(sweep).trials().running(), 1u);
  harness.Crash();  // Before the commit: the reply has not left.
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  EXPECT_EQ(harness.state().leases.size(), 0u);
  harness.Sync(worker);
  EXPECT_EQ(OnlyToken(worker), 1u);
}

TEST_F(OrchestratorRestartTest, SilentWorkerOfThePastIsLostAfterATerm) {
  harness.Sync(worker);
  harness.Restart();
  EXPECT_EQ(harness.state().workers.connected(), 1);
  harness.TickAfter(seconds(16));
  EXPECT_EQ(harness.state().workers.connected(), 0);
}

TEST_F(OrchestratorRestartTest, AStoredSpecificationIsReadWhenItsStageIsLeased) {
  v1::TrialSpec spec;
  spec.set_seed(7);
  spec.mutable_training()->set_steps(3);
  EXPECT_EQ(PackedSpec(R"({"seed":7,"training":{"steps":3}})"), spec.SerializeAsString());
  EXPECT_EQ(PackedSpec(spec.SerializeAsString()), spec.SerializeAsString());
  EXPECT_EQ(PackedSpec("{\"sed\":7}"), "{\"sed\":7}");  // Which the worker refuses.
  EXPECT_EQ(PackedSpec("{}"), "");
}

TEST_F(OrchestratorRestartTest, LabelsWithQuotesAndWithoutComeBackAsTheyWere) {
  using Labels = std::vector<std::pair<std::string, std::string>>;
  for (const Labels& labels : {Labels{}, Labels{{"gamma", "-0.03"}}, Labels{{"a", ""}, {"b", "x, y: {}"}},
                               Labels{{"method", "say \"no\""}, {"path", "a\\b"}}}) {
    EXPECT_EQ(LabelsFromJson(LabelsJson(labels)), labels);
  }
  EXPECT_TRUE(LabelsFromJson("[1]").empty());
  EXPECT_EQ(LabelsFromJson(R"({ "a" : "b" })"), (Labels{{"a", "b"}}));
  EXPECT_TRUE(LabelsFromJson(R"({"a":1})").empty());
}

// Found by the simulation: the words of an outcome that succeeded were gone from memory and back after a
// restart.
TEST_F(OrchestratorRestartTest, MessageOfAResultIsNoReasonOfAFailure) {
  const Token token = Lease();
  worker.Emit(token, CheckpointEvent(100, true));
  v1::TrialEvent outcome = OutcomeEvent(v1::Outcome::SUCCEEDED);
  outcome.mutable_outcome()->set_message("went well");
  harness.Report(worker, token, outcome);
  harness.Restart();
}

// Found by the simulation's deliberate bugs: when the coordinator was restarted between a trained model and
// its outcome, it took the outcome for a lie ("SUCCEEDED without a final checkpoint") and trained again.
TEST_F(OrchestratorRestartTest, TrainedModelThatCameBeforeTheRestartCounts) {
  const Token token = Lease();
  harness.Report(worker, token, CheckpointEvent(100, true, 'b'));
  harness.Restart();
  harness.Report(worker, token, OutcomeEvent(v1::Outcome::SUCCEEDED));
  EXPECT_EQ(harness.Status(sweep).train_stages().ended(), 1u);
  harness.Sync(worker);
  ASSERT_EQ(worker.running().size(), 1u);
  EXPECT_EQ(worker.running().begin()->second.checkpoint_sha256(), std::string(64, 'b'));
}

}  // namespace
}  // namespace inlier
