// A sweep that becomes another one while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using OrchestratorEditTest = OneWorkerTest;

TEST_F(OrchestratorEditTest, AddedSeedsAndBitsRunAndNothingFinishedRunsAgain) {
  sweep = harness.Submit(SmallSweep("s", 2, {8, 4}));
  worker = HandWorker("w", 2);
  EXPECT_EQ(RunAll(harness, worker), 2u + 4u);
  ASSERT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  // A third seed, and a third value of the inner axis: the old points change their places.
  const auto edited = harness.EditSweep(sweep, SmallSweep("s", 3, {8, 6, 4})).value();
  EXPECT_EQ(edited.trials(), 9u);
  EXPECT_EQ(edited.added(), 5u);
  EXPECT_EQ(edited.kept(), 4u);
  EXPECT_EQ(edited.withdrawn(), 0u);
  EXPECT_EQ(edited.revision(), 2u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 4u);
  harness.Restart();
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 5u);
  // One more training, and one evaluation for each new point.
  EXPECT_EQ(RunAll(harness, worker), 1u + 5u);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 9u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  harness.Restart();
}

TEST_F(OrchestratorEditTest, RemovedValuesAreWithdrawnWithTheirRunningAttempts) {
  Lease(SmallSweep("s", 3));
  worker.FinishAll();
  harness.Sync(worker);  // Evaluates seed 1.
  worker.FinishAll();
  harness.Sync(worker);  // Trains seed 2.
  ASSERT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  const v1::WorkerSync running = worker.Sync();
  v1::SweepSpec spec = SmallSweep("s", 3);
  *spec.mutable_axes(0) = NumberAxis("seed", {3});
  const auto edited = harness.EditSweep(sweep, spec).value();
  EXPECT_EQ(edited.kept(), 1u);
  EXPECT_EQ(edited.withdrawn(), 2u);
  EXPECT_EQ(edited.stopped(), 1u);
  const v1::SweepStatus status = harness.Status(sweep);
  EXPECT_EQ(status.withdrawn(), 2u);
  EXPECT_EQ(status.trials().succeeded(), 0u);
  EXPECT_EQ(status.trials().pending(), 1u);
  EXPECT_EQ(status.train_stages().total(), 1u);
  const auto answer = harness.TrySync(running).value();
  EXPECT_EQ(answer.stop_size(), 1);
  worker.Take(answer);
  harness.Restart();
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  // The trial that comes back has its result.
  EXPECT_EQ(harness.EditSweep(sweep, SmallSweep("s", 3)).value().added(), 2u);
  harness.Tick();
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
  EXPECT_EQ(RunAll(harness, worker), 2u);  // Seed 2 alone.
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 3u);
}

TEST_F(OrchestratorEditTest, WithdrawnTrialStopsOnlyStagesWithoutOtherDependents) {
  const SweepId edited = harness.Submit(SmallSweep("edited", 2));
  const SweepId other = harness.Submit(SmallSweep("other", 1));
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  v1::SweepSpec spec = SmallSweep("edited", 2);
  *spec.mutable_axes(0) = NumberAxis("seed", {2});
  ASSERT_TRUE(harness.EditSweep(edited, spec).ok());
  harness.Sync(worker);
  ASSERT_TRUE(worker.running().contains(token));
  harness.Restart();
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(other).trials().succeeded(), 1u);
  EXPECT_EQ(harness.Status(edited).trials().succeeded(), 1u);
}

TEST_F(OrchestratorEditTest, LimitsPriorityAndWeightChangeWithoutTouchingATrial) {
  v1::SweepSpec spec = SmallSweep("s", 4);
  spec.set_max_parallel(1);
  Lease(spec, HandWorker("w", 4));
  EXPECT_EQ(worker.running().size(), 1u);
  spec.set_max_parallel(3);
  spec.set_priority(7);
  spec.set_weight(2.5);
  const auto edited = harness.EditSweep(sweep, spec).value();
  EXPECT_EQ(edited.kept(), 4u);
  EXPECT_EQ(edited.added() + edited.withdrawn(), 0u);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 3u);
  harness.Restart();
  const v1::SweepStatus status = harness.Status(sweep, /*with_spec=*/true);
  EXPECT_EQ(status.spec().priority(), 7);
  EXPECT_EQ(status.spec().weight(), 2.5);
  // A smaller limit stops nothing that runs, and starts nothing until there is room.
  spec.set_max_parallel(1);
  ASSERT_TRUE(harness.EditSweep(sweep, spec).ok());
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 3u);
  harness.Finish(worker, worker.running().begin()->first);
  EXPECT_EQ(worker.running().size(), 2u);
}

TEST_F(OrchestratorEditTest, LazyGridKeepsItsTrialsAndMakesEveryOtherPointOnce) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 5;
  options.expand_ahead = 6;
  options.expand_per_tick = 4;
  options.passed_per_tick = 3;
  harness.RestartAs(options);
  Lease(SmallSweep("s", 5, {8, 6}), HandWorker("w", 2));
  worker.FinishAll();
  harness.Sync(worker);
  // Every second seed leaves, another comes in front, and the bits change their order.
  v1::SweepSpec spec = SmallSweep("s", 1, {4, 6, 8});
  *spec.mutable_axes(0) = NumberAxis("seed", {9, 1, 3, 5, 7});
  const auto edited = harness.EditSweep(sweep, spec).value();
  EXPECT_EQ(edited.trials(), 15u);
  EXPECT_EQ(edited.kept(), 6u);  // Seeds 1, 3 and 5 with 8 and 6 bits, made or not.
  EXPECT_EQ(edited.added(), 9u);
  EXPECT_EQ(edited.withdrawn(), 4u);
  harness.Restart();
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 15u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  harness.Restart();
}

TEST_F(OrchestratorEditTest, ForbiddenEditsAreRefusedAndNothingChanges) {
  const v1::SweepSpec spec = SmallSweep("s", 2);
  sweep = harness.Submit(spec);
  const std::string before = DurableState(harness.state());
  const auto refusal = [&](const v1::SweepSpec& to, std::uint64_t max_trials = 10000) {
    const absl::Status status = harness.EditSweep(sweep, to, "id", max_trials).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(harness.last().changes.empty());
    return std::string(status.message());
  };
  EXPECT_THAT(refusal(SmallSweep("t", 2)), HasSubstr("name: the sweep is called s, not t"));
  v1::SweepSpec base = spec;
  base.mutable_base()->mutable_training()->set_steps(200);
  EXPECT_THAT(refusal(base), HasSubstr("training.steps"));
  v1::SweepSpec axes = spec;
  *axes.add_axes() = NumberAxis("training.batch_size", {2, 4});
  EXPECT_THAT(refusal(axes), HasSubstr("axes: the sweep has seed, bits, the edit seed, bits, batch_size"));
  v1::SweepSpec pruned = spec;
  pruned.mutable_pruning()->set_measurement("loss");
  pruned.mutable_pruning()->mutable_median();
  EXPECT_THAT(refusal(pruned), HasSubstr("pruning: decisions were made by it"));
  v1::SweepSpec sampled = spec;
  sampled.mutable_sampling()->mutable_random()->set_trials(2);
  EXPECT_THAT(refusal(sampled), HasSubstr("sampling: the points of a sampled sweep"));
  v1::SweepSpec tied = spec;
  (*tied.mutable_tied())["training.batch_size"] = "2 * seed";
  EXPECT_THAT(refusal(tied), HasSubstr("tied: it decides every trial"));
  EXPECT_THAT(refusal(SmallSweep("s", 20), 10), HasSubstr("more than the limit of 10"));
  EXPECT_EQ(DurableState(harness.state()), before);
}

TEST_F(OrchestratorEditTest, EditMadeFromAnOlderRevisionIsRefused) {
  sweep = harness.Submit(SmallSweep("s", 2));
  ASSERT_TRUE(harness.EditSweep(sweep, SmallSweep("s", 3)).ok());
  v1::EditSweepRequest request;
  request.set_sweep("s");
  request.set_revision(1);
  *request.mutable_spec() = SmallSweep("s", 4);
  EXPECT_THAT(harness.Ask(&EditSweep, request),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it is at revision 2")));
}

TEST_F(OrchestratorEditTest, RepeatedEditIsAnsweredAgainAndChangesNothing) {
  sweep = harness.Submit(SmallSweep("s", 2));
  const auto first = harness.EditSweep(sweep, SmallSweep("s", 3), "id").value();
  harness.Restart();
  const auto again = harness.EditSweep(sweep, SmallSweep("s", 3), "id").value();
  EXPECT_EQ(first.SerializeAsString(), again.SerializeAsString());
  EXPECT_TRUE(harness.last().changes.empty());
}

TEST_F(OrchestratorEditTest, CancelledSweepTakesAnEditAndRunsItWhenItIsRetried) {
  sweep = harness.Submit(SmallSweep("s", 2));
  harness.CancelSweep(sweep);
  ASSERT_TRUE(harness.EditSweep(sweep, SmallSweep("s", 3)).ok());
  harness.Tick();
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  harness.Restart();
  EXPECT_EQ(harness.RetrySweep(sweep), 3u);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 3u);
}

TEST_F(OrchestratorEditTest, WithdrawnTrialCannotBeRetried) {
  sweep = harness.Submit(SmallSweep("s", 2));
  ASSERT_TRUE(harness.EditSweep(sweep, SmallSweep("s", 1)).ok());
  v1::RetryRequest retry;
  retry.set_trial("t-2");
  EXPECT_EQ(harness.Ask(&Retry, retry).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(harness.RetrySweep(sweep), 0u);
}

// The edit changes how many trials the sweep has, not the answer to its submission.
TEST_F(OrchestratorEditTest, SubmissionThatComesAgainAfterAnEditIsAnsweredAsBefore) {
  const auto submitted = harness.TrySubmit(SmallSweep("s", 2), "request-1").value();
  ASSERT_TRUE(harness.EditSweep(*SweepId::Parse(submitted.sweep_id()), SmallSweep("s", 3)).ok());
  EXPECT_EQ(harness.TrySubmit(SmallSweep("s", 2), "request-1")->trials(), 2u);
  harness.Restart();
  EXPECT_EQ(harness.TrySubmit(SmallSweep("s", 2), "request-1")->SerializeAsString(),
            submitted.SerializeAsString());
}

}  // namespace
}  // namespace inlier
