// Trainings that are ended because others do better: the orchestrator on a real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "coordinator/state/sweeps/pruner.h"
#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

v1::TrialEvent Point(std::uint64_t step, double value) {
  v1::TrialEvent event = MeasurementEvent("train_loss", value, false);
  event.mutable_measurement()->set_step(step);
  return event;
}

v1::SweepSpec Pruned(v1::SweepSpec sweep, std::uint32_t min_trials = 1) {
  sweep.mutable_pruning()->set_measurement("train_loss");
  sweep.mutable_pruning()->mutable_median()->set_interval(10);
  sweep.mutable_pruning()->mutable_median()->set_min_trials(min_trials);
  return sweep;
}

v1::RetryResponse RetryTrial(Harness& harness, int trial) {
  v1::RetryRequest request;
  request.set_trial(TrialId(trial).ToString());
  Effects effects;
  const auto response = harness.orchestrator().Change(&Retry, request, harness.now(), effects);
  EXPECT_TRUE(response.ok()) << response.status();
  harness.Commit(std::move(effects));
  return response.ok() ? *response : v1::RetryResponse();
}

Snapshot Load(Harness& harness) {
  auto snapshot = harness.Load();
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return snapshot.ok() ? *std::move(snapshot) : Snapshot();
}

// Two trainings run, tokens 1 and 2; the second is worse and has just been pruned.
struct OnePruned {
  Harness harness;
  SweepId sweep;
  HandWorker worker{"w", 2};

  explicit OnePruned(OrchestratorOptions options = Harness::DefaultOptions(),
                     v1::SweepSpec spec = Pruned(SmallSweep("s", 2)), bool with_plain = false)
      : harness(options), sweep(harness.Submit(spec)) {
    harness.Sync(worker);
    EXPECT_EQ(worker.running().size(), 2u);
    for (const Token token : {1, 2}) worker.Emit(token, StartedEvent(""));
    if (with_plain) {
      harness.Sync(worker);
      harness.Submit(SmallSweep("plain", 2));
      CheckData(harness, worker);
    }
    worker.Emit(1, Point(10, 1.0));
    worker.Emit(2, Point(10, 2.0));
  }
};

TEST(PruningTest, TheWorseTrainingIsEndedAndIsNoFailure) {
  OnePruned state;
  Harness& harness = state.harness;
  const v1::CoordinatorSync reply = harness.Sync(state.worker);
  ASSERT_EQ(reply.desired_size(), 1);
  EXPECT_EQ(reply.desired(0).token(), 1u);
  const std::string reason = "pruned: train_loss 2 at step 10 is worse than the median 1 of 1 trials";
  ASSERT_EQ(reply.stop_size(), 1);
  EXPECT_EQ(reply.stop(0).token(), 2u);
  EXPECT_EQ(reply.stop(0).reason(), reason);
  // The decision is in one batch with the point that it rests on, behind it and before the attempt's end.
  std::vector<std::string> order;
  for (const Change& change : harness.last().changes.changes) {
    if (const auto* row = std::get_if<MeasurementRow>(&change))
      order.push_back("point " + std::to_string(row->token));
    if (const auto* row = std::get_if<PruningDecision>(&change))
      order.push_back((row->prune ? "prune " : "continue ") + std::to_string(row->token));
    if (const auto* row = std::get_if<AttemptEnded>(&change))
      order.push_back("end " + std::to_string(row->token));
  }
  EXPECT_THAT(order, ElementsAre("point 1", "continue 1", "point 2", "prune 2", "end 2"));
  EXPECT_EQ(harness.last().changes.lane, Lane::kControl);

  const v1::TrialCounts counts = harness.Status(state.sweep).trials();
  EXPECT_EQ(counts.cancelled(), 1u);
  EXPECT_EQ(counts.pruned(), 1u);
  EXPECT_EQ(counts.failed(), 0u);
  EXPECT_TRUE(harness.orchestrator().state().stats.failures.empty());
  const Snapshot snapshot = Load(harness);
  EXPECT_EQ(snapshot.trials[1].state, v1::CANCELLED);
  EXPECT_EQ(snapshot.trials.at(1).message, reason);
  ASSERT_EQ(snapshot.trial_prunings.size(), 1u);
  EXPECT_EQ(snapshot.trial_prunings[0].id, TrialId(2));
  ASSERT_EQ(snapshot.pruning_decisions.size(), 2u);
  EXPECT_EQ(snapshot.pruning_decisions[1].threshold, 1.0);
  EXPECT_EQ(snapshot.pruning_decisions[1].others, 1u);
  std::uint64_t from = 0;
  const v1::SweepUpdate update =
      DescribeSweep(harness.orchestrator().state(), state.sweep, harness.now(), from);
  ASSERT_EQ(update.notices_size(), 1);
  EXPECT_EQ(update.notices(0), reason + " [train t-2 (seed=2, bits=8)]");

  // The other ends well, and so does the sweep.
  state.worker.Finish(1);
  harness.Sync(state.worker);
  state.worker.Finish(3);
  harness.Sync(state.worker);
  EXPECT_EQ(harness.Status(state.sweep).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(state.sweep).trials().succeeded(), 1u);
  harness.Restart();
}

TEST(PruningTest, LateEventsOfAPrunedAttemptAreStale) {
  OnePruned state;
  state.worker.Emit(2, Point(20, 0.1));
  state.worker.Finish(2);
  state.harness.Sync(state.worker);
  EXPECT_EQ(state.harness.orchestrator().state().stats.events_stale, 3u);
  const Snapshot snapshot = Load(state.harness);
  EXPECT_EQ(snapshot.stages[2].state, v1::CANCELLED);
  EXPECT_TRUE(snapshot.checkpoints.empty());
  EXPECT_EQ(snapshot.pruning_decisions.size(), 2u);
}

TEST(PruningTest, RetryOfTheSweepLeavesPrunedTrialsAndRetryOfTheTrialKeepsItFromPruning) {
  OnePruned state;
  Harness& harness = state.harness;
  state.worker.Emit(2, CheckpointEvent(5, false));  // Stale: after the point that ended it.
  harness.Sync(state.worker);
  EXPECT_EQ(harness.RetrySweep(state.sweep), 0u);
  EXPECT_EQ(RetryTrial(harness, 2).retried(), 1u);
  EXPECT_EQ(harness.Status(state.sweep).trials().pruned(), 0u);
  harness.Restart();
  const v1::CoordinatorSync reply = harness.Sync(state.worker);
  ASSERT_EQ(reply.desired_size(), 2);
  const Token again = reply.desired(1).token();
  EXPECT_EQ(reply.desired(1).attempt(), 2u);
  // It comes by the old rung, and is worse at new ones: judged, and not ended.
  state.worker.Emit(1, Point(20, 0.5));
  state.worker.Emit(again, Point(10, 2.0));
  state.worker.Emit(again, Point(20, 3.0));
  EXPECT_EQ(harness.Sync(state.worker).desired_size(), 2);
  const Snapshot snapshot = Load(harness);
  ASSERT_EQ(snapshot.pruning_decisions.size(), 4u);
  EXPECT_TRUE(snapshot.pruning_decisions[3].prune);
  EXPECT_EQ(snapshot.pruning_decisions[3].token, again);
  EXPECT_TRUE(ReplayPruning(snapshot).ok()) << ReplayPruning(snapshot);
  harness.Restart();
}

TEST(PruningTest, AStageOfSeveralSweepsIsPrunedWhenAllWantIt) {
  Harness harness;
  const SweepId strict = harness.Submit(Pruned(SmallSweep("strict", 3)));
  const SweepId lenient = harness.Submit(Pruned(SmallSweep("lenient", 3), /*min_trials=*/2));
  HandWorker worker("w", 3);
  harness.Sync(worker);
  ASSERT_EQ(worker.running().size(), 3u);
  worker.Emit(1, Point(10, 1.0));
  worker.Emit(2, Point(10, 2.0));
  EXPECT_EQ(harness.Sync(worker).desired_size(), 3);  // `lenient` wants to see two others first.
  harness.Restart();
  worker.Emit(3, Point(10, 3.0));
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.desired_size(), 2);
  for (const SweepId sweep : {strict, lenient}) {
    EXPECT_EQ(harness.Status(sweep).trials().pruned(), 1u);
    EXPECT_EQ(harness.Status(sweep).trials().running(), 2u);
  }
  EXPECT_EQ(Load(harness).pruning_decisions.size(), 6u);
  harness.Restart();
}

TEST(PruningTest, ASweepWithoutPruningKeepsItsTrainings) {
  OnePruned state(Harness::DefaultOptions(), Pruned(SmallSweep("s", 2)), /*with_plain=*/true);
  EXPECT_EQ(state.harness.Sync(state.worker).desired_size(), 2);
  EXPECT_EQ(state.harness.Status(state.sweep).trials().pruned(), 0u);
}

TEST(PruningTest, TrialsMadeLaterOfAPrunedTrainingArePrunedAtOnce) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 2;
  options.expand_ahead = 2;
  v1::SweepSpec spec = Pruned(SmallSweep("s", 2, {8, 6}));
  spec.mutable_axes()->SwapElements(0, 1);  // Both seeds with 8 bits, then both with 6.
  OnePruned state(options, spec);
  state.harness.Sync(state.worker);
  EXPECT_EQ(state.harness.Status(state.sweep).trials().pruned(), 1u);
  state.harness.Tick();
  state.worker.Finish(1);
  for (int i = 0; i < 6; ++i) {
    state.harness.Sync(state.worker);
    const auto running = state.worker.running();
    for (const auto& [token, assignment] : running) {
      EXPECT_EQ(assignment.kind(), v1::EVALUATE_STAGE);
      state.worker.Finish(token);
    }
    state.harness.Tick();
  }
  const v1::SweepStatus status = state.harness.Status(state.sweep);
  EXPECT_EQ(status.state(), v1::COMPLETE);
  EXPECT_EQ(status.trials().succeeded(), 2u);
  EXPECT_EQ(status.trials().cancelled(), 2u);
  EXPECT_EQ(status.trials().pruned(), 2u);
  EXPECT_THAT(Load(state.harness).trials.back().message, HasSubstr("pruned: train_loss 2 at step 10"));
  state.harness.Restart();
}

TEST(PruningTest, AnotherSweepMayTrainAPrunedStage) {
  OnePruned state;
  state.harness.Sync(state.worker);
  const SweepId plain = state.harness.Submit(SmallSweep("plain", 2));
  CheckData(state.harness, state.worker);
  const v1::CoordinatorSync reply = state.harness.Sync(state.worker);
  ASSERT_EQ(reply.desired_size(), 2);
  state.worker.Emit(3, Point(10, 2.0));
  EXPECT_EQ(state.harness.Sync(state.worker).desired_size(), 2);
  EXPECT_EQ(state.harness.Status(plain).trials().running(), 2u);
  EXPECT_EQ(state.harness.Status(state.sweep).trials().pruned(), 1u);
  state.harness.Restart();
}

TEST(PruningTest, TheLastPointAndFinalNumbersAreNotJudged) {
  Harness harness;
  harness.Submit(Pruned(SmallSweep("s", 2)));
  HandWorker worker("w", 2);
  harness.Sync(worker);
  worker.Emit(1, Point(100, 1.0));
  worker.Emit(2, Point(100, 2.0));
  worker.Emit(2, MeasurementEvent("train_loss", 2.0, true));
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
  EXPECT_TRUE(Load(harness).pruning_decisions.empty());
}

// A random history: two sweeps share their trainings, one prunes by the median and one by asha; workers are
// lost and come back, the coordinator restarts, also between deciding and committing. A second
// evaluation of the database gives the same verdicts, and the pruned stages are those that both want pruned.
class PruningHistoryTest : public testing::TestWithParam<int> {};

TEST_P(PruningHistoryTest, DecisionsFromTheDatabaseComeOutTheSame) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  const std::filesystem::path memory = "/dev/shm";
  std::error_code ignored;
  Harness harness(Harness::DefaultOptions(), std::filesystem::is_directory(memory, ignored)
                                                 ? memory
                                                 : std::filesystem::temp_directory_path());
  constexpr int kSeeds = 14;
  v1::SweepSpec asha = SmallSweep("asha", kSeeds);
  asha.mutable_pruning()->set_measurement("train_loss");
  asha.mutable_pruning()->mutable_asha()->set_min_steps(5);
  asha.mutable_pruning()->mutable_asha()->set_reduction(2);
  const SweepId sweeps[] = {harness.Submit(Pruned(SmallSweep("median", kSeeds), 2)), harness.Submit(asha)};
  std::vector<HandWorker> workers;
  int incarnation = 0;
  const auto new_worker = [&] { return HandWorker("w" + std::to_string(++incarnation), 2); };
  for (int i = 0; i < 3; ++i) workers.push_back(new_worker());
  std::map<Token, std::uint64_t> steps;
  int restarts = 0;
  const auto over = [&] {
    return IsOver(harness.orchestrator().state(), sweeps[0]) &&
           IsOver(harness.orchestrator().state(), sweeps[1]);
  };
  for (int round = 0; round < 4000 && !over() && !testing::Test::HasFailure(); ++round) {
    harness.Advance(std::chrono::milliseconds(100 + below(400)));
    harness.Tick();
    HandWorker& worker = workers[below(workers.size())];
    const std::uint64_t what = below(100);
    if (what < 2) {
      harness.Restart();
      ++restarts;
    } else if (what < 4) {
      // It decides, and dies before anything is committed.
      const std::string before = DurableState(harness.orchestrator().state());
      Effects lost;
      ASSERT_TRUE(harness.orchestrator().OnSync(worker.Sync(), harness.now(), lost).ok());
      harness.Crash();
      ++restarts;
      EXPECT_EQ(DurableState(harness.orchestrator().state()), before);
    } else if (what < 6) {
      worker = new_worker();  // Killed with its children.
      harness.Advance(seconds(17));
      for (HandWorker& other : workers) harness.Sync(other);
    } else {
      const auto running = worker.running();
      for (const auto& [token, assignment] : running) {
        if (assignment.kind() == v1::EVALUATE_STAGE || steps[token] >= 95) {
          worker.Finish(token);
          continue;
        }
        std::uint64_t& step = steps[token];
        step = std::max(step, assignment.resume_step()) + 1 + below(12);
        if (step >= 100) step = 99;
        // Each training has its own level, so that some are worth continuing.
        const double level = static_cast<double>(SpecOf(assignment).seed() * 7 % kSeeds);
        worker.Emit(token,
                    below(40) == 0 ? Point(step, NAN) : Point(step, level + static_cast<double>(below(5))));
        if (below(3) == 0) worker.Emit(token, CheckpointEvent(step, false));
      }
      harness.Sync(worker);
    }
  }
  ASSERT_TRUE(over()) << DurableState(harness.orchestrator().state());
  EXPECT_GT(restarts, 0);
  EXPECT_EQ(harness.fenced(), 0u);
  const Snapshot snapshot = Load(harness);
  EXPECT_TRUE(ReplayPruning(snapshot).ok()) << ReplayPruning(snapshot);
  // Only the stages that both wanted pruned at last are ended.
  std::map<std::pair<SweepId, StageId>, bool> wanted;
  int prunes = 0;
  for (const PruningDecision& decision : snapshot.pruning_decisions) {
    wanted[{decision.sweep, decision.stage}] = decision.prune;
    prunes += decision.prune;
  }
  int pruned = 0;
  for (const StageRow& stage : snapshot.stages) {
    if (stage.kind != v1::TRAIN_STAGE) continue;
    const bool both = wanted[{sweeps[0], stage.id}] && wanted[{sweeps[1], stage.id}];
    EXPECT_EQ(stage.state, both ? v1::CANCELLED : v1::SUCCEEDED) << stage.id.ToString();
    pruned += both;
  }
  EXPECT_GT(pruned, 0);
  EXPECT_LT(pruned, kSeeds);
  EXPECT_EQ(snapshot.trial_prunings.size(), 2 * static_cast<std::size_t>(pruned));
  std::printf("seed %d: %zu decisions, %d to prune, %d of %d trainings pruned, %d restarts\n", GetParam(),
              snapshot.pruning_decisions.size(), prunes, pruned, kSeeds, restarts);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PruningHistoryTest, testing::Range(1, 9));

// The verdict on the training remains: the trial is in no count while it is withdrawn, and comes back ended.
TEST(PruningTest, PrunedTrialThatAnEditWithdrawsAndBringsBackIsNotTrainedAgain) {
  OnePruned state;
  Harness& harness = state.harness;
  harness.Sync(state.worker);
  ASSERT_EQ(harness.Status(state.sweep).trials().pruned(), 1u);
  v1::EditSweepRequest edit;
  edit.set_sweep(state.sweep.ToString());
  *edit.mutable_spec() = Pruned(SmallSweep("s", 3));
  edit.mutable_spec()->mutable_axes(0)->mutable_values()->DeleteSubrange(1, 1);  // Seed 2.
  ASSERT_TRUE(harness.Ask(&EditSweep, edit).ok());
  EXPECT_EQ(harness.Status(state.sweep).trials().pruned(), 0u);
  EXPECT_EQ(harness.Status(state.sweep).trials().cancelled(), 0u);
  harness.Restart();
  EXPECT_EQ(harness.Status(state.sweep).trials().pruned(), 0u);
  *edit.mutable_spec() = Pruned(SmallSweep("s", 3));
  ASSERT_TRUE(harness.Ask(&EditSweep, edit).ok());
  harness.Tick();
  EXPECT_EQ(harness.Status(state.sweep).trials().pruned(), 1u);
  EXPECT_EQ(harness.Status(state.sweep).trials().cancelled(), 1u);
  harness.Restart();
  EXPECT_EQ(harness.Status(state.sweep).trials().pruned(), 1u);
}

}  // namespace
}  // namespace inlier
