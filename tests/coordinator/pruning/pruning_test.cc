// Trainings that are ended because others do better: the orchestrator on a real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "coordinator/state/sweeps/pruner.h"
#include "coordinator/status/status.h"
#include "spec/sweep/pruning_checks.h"
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

struct PruningTest : OneWorkerTest {
  // Two trainings run, tokens 1 and 2; at the next sync the second is worse and is pruned.
  void RunTwo(const v1::SweepSpec& spec = Pruned(SmallSweep("s", 2)), bool with_plain = false) {
    sweep = harness.Submit(spec);
    worker = harness.Connect("w", 2);
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

TEST_F(PruningTest, TheWorseTrainingIsEndedAndIsNoFailure) {
  RunTwo();
  const v1::CoordinatorSync reply = harness.Sync(worker);
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

  const v1::TrialCounts counts = harness.Status(sweep).trials();
  EXPECT_EQ(counts.cancelled(), 1u);
  EXPECT_EQ(counts.pruned(), 1u);
  EXPECT_EQ(counts.failed(), 0u);
  EXPECT_TRUE(harness.state().stats.failures.empty());
  const Snapshot snapshot = harness.Load().value();
  EXPECT_EQ(snapshot.trials[1].state, v1::CANCELLED);
  EXPECT_EQ(snapshot.trials.at(1).message, reason);
  ASSERT_EQ(snapshot.trial_prunings.size(), 1u);
  EXPECT_EQ(snapshot.trial_prunings[0].id, TrialId(2));
  ASSERT_EQ(snapshot.pruning_decisions.size(), 2u);
  EXPECT_EQ(snapshot.pruning_decisions[1].threshold, 1.0);
  EXPECT_EQ(snapshot.pruning_decisions[1].others, 1u);
  EXPECT_THAT(harness.Notices(sweep), ElementsAre(reason + " [train t-2 (seed=2, bits=8)]"));

  // The other ends well, and so does the sweep.
  worker.Finish(1);
  harness.Sync(worker);
  worker.Finish(3);
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  harness.Restart();
}

TEST_F(PruningTest, LateEventsOfAPrunedAttemptAreStale) {
  RunTwo();
  worker.Emit(2, Point(20, 0.1));
  worker.Finish(2);
  harness.Sync(worker);
  EXPECT_EQ(harness.state().stats.events_stale, 3u);
  const Snapshot snapshot = harness.Load().value();
  EXPECT_EQ(snapshot.stages[2].state, v1::CANCELLED);
  EXPECT_TRUE(snapshot.checkpoints.empty());
  EXPECT_EQ(snapshot.pruning_decisions.size(), 2u);
}

TEST_F(PruningTest, RetryOfTheSweepLeavesPrunedTrialsAndRetryOfTheTrialKeepsItFromPruning) {
  RunTwo();
  worker.Emit(2, CheckpointEvent(5, false));  // Stale: after the point that ended it.
  harness.Sync(worker);
  EXPECT_EQ(harness.RetrySweep(sweep), 0u);
  EXPECT_EQ(harness.RetryTrial(2), 1u);
  EXPECT_EQ(harness.Status(sweep).trials().pruned(), 0u);
  harness.Restart();
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.desired_size(), 2);
  const Token again = reply.desired(1).token();
  EXPECT_EQ(reply.desired(1).attempt(), 2u);
  // It comes by the old rung, and is worse at new ones: judged, and not ended.
  worker.Emit(1, Point(20, 0.5));
  worker.Emit(again, Point(10, 2.0));
  worker.Emit(again, Point(20, 3.0));
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
  const Snapshot snapshot = harness.Load().value();
  ASSERT_EQ(snapshot.pruning_decisions.size(), 4u);
  EXPECT_TRUE(snapshot.pruning_decisions[3].prune);
  EXPECT_EQ(snapshot.pruning_decisions[3].token, again);
  EXPECT_TRUE(ReplayPruning(snapshot).ok()) << ReplayPruning(snapshot);
  harness.Restart();
}

TEST_F(PruningTest, AStageOfSeveralSweepsIsPrunedWhenAllWantIt) {
  const SweepId strict = harness.Submit(Pruned(SmallSweep("strict", 3)));
  const SweepId lenient = harness.Submit(Pruned(SmallSweep("lenient", 3), /*min_trials=*/2));
  worker = harness.Connect("w", 3);
  ASSERT_EQ(worker.running().size(), 3u);
  worker.Emit(1, Point(10, 1.0));
  // `lenient` wants to see two others first.
  EXPECT_EQ(harness.Report(worker, 2, Point(10, 2.0)).desired_size(), 3);
  harness.Restart();
  worker.Emit(3, Point(10, 3.0));
  ASSERT_EQ(harness.Sync(worker).desired_size(), 2);
  for (const SweepId sweep : {strict, lenient}) {
    EXPECT_EQ(harness.Status(sweep).trials().pruned(), 1u);
    EXPECT_EQ(harness.Status(sweep).trials().running(), 2u);
  }
  EXPECT_EQ(harness.Load().value().pruning_decisions.size(), 6u);
  harness.Restart();
}

TEST_F(PruningTest, ASweepWithoutPruningKeepsItsTrainings) {
  RunTwo(Pruned(SmallSweep("s", 2)), /*with_plain=*/true);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
  EXPECT_EQ(harness.Status(sweep).trials().pruned(), 0u);
}

TEST_F(PruningTest, TrialsMadeLaterOfAPrunedTrainingArePrunedAtOnce) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 2;
  options.expand_ahead = 2;
  v1::SweepSpec spec = Pruned(SmallSweep("s", 2, {8, 6}));
  spec.mutable_axes()->SwapElements(0, 1);  // Both seeds with 8 bits, then both with 6.
  harness.RestartAs(options);
  RunTwo(spec);
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).trials().pruned(), 1u);
  harness.Tick();
  worker.Finish(1);
  for (int i = 0; i < 6; ++i) {
    harness.Sync(worker);
    for (const auto& [token, assignment] : worker.running()) EXPECT_EQ(assignment.kind(), v1::EVALUATE_STAGE);
    worker.FinishAll();
    harness.Tick();
  }
  const v1::SweepStatus status = harness.Status(sweep);
  EXPECT_EQ(status.state(), v1::COMPLETE);
  EXPECT_EQ(status.trials().succeeded(), 2u);
  EXPECT_EQ(status.trials().cancelled(), 2u);
  EXPECT_EQ(status.trials().pruned(), 2u);
  EXPECT_THAT(harness.Load().value().trials.back().message, HasSubstr("pruned: train_loss 2 at step 10"));
  harness.Restart();
}

TEST_F(PruningTest, AnotherSweepMayTrainAPrunedStage) {
  RunTwo();
  harness.Sync(worker);
  const SweepId plain = harness.Submit(SmallSweep("plain", 2));
  CheckData(harness, worker);
  ASSERT_EQ(harness.Sync(worker).desired_size(), 2);
  worker.Emit(3, Point(10, 2.0));
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
  EXPECT_EQ(harness.Status(plain).trials().running(), 2u);
  EXPECT_EQ(harness.Status(sweep).trials().pruned(), 1u);
  harness.Restart();
}

TEST_F(PruningTest, TheLastPointAndFinalNumbersAreNotJudged) {
  Lease(Pruned(SmallSweep("s", 2)), HandWorker("w", 2));
  worker.Emit(1, Point(100, 1.0));
  worker.Emit(2, Point(100, 2.0));
  EXPECT_EQ(harness.Report(worker, 2, MeasurementEvent("train_loss", 2.0, true)).desired_size(), 2);
  EXPECT_TRUE(harness.Load().value().pruning_decisions.empty());
}

TEST_F(PruningTest, TrialsOfASampleAreInOneBracket) {
  v1::SweepSpec spec = SmallSweep("s", 2);
  spec.mutable_axes(0)->set_each(true);
  v1::Axis& size = *spec.add_axes();
  size.set_field("training.batch_size");
  size.mutable_range()->set_min(1);
  size.mutable_range()->set_max(60000);
  spec.mutable_sampling()->mutable_random()->set_trials(6);
  spec.mutable_pruning()->set_measurement("train_loss");
  v1::AshaPruning& asha = *spec.mutable_pruning()->mutable_asha();
  asha.set_min_steps(10);
  asha.set_reduction(2);
  asha.set_brackets(3);
  Lease(spec, HandWorker("w", 12));
  ASSERT_EQ(worker.running().size(), 12u);
  for (Token token = 1; token <= 12; ++token) worker.Emit(token, Point(95, 1.0));
  harness.Sync(worker);
  const Snapshot snapshot = harness.Load().value();
  ASSERT_EQ(snapshot.pruning_decisions.size(), 12u);
  std::map<StageId, std::uint64_t> sample;
  for (const TrialRow& trial : snapshot.trials) sample[trial.train_stage] = *trial.point / 2;
  std::set<std::uint32_t> brackets;
  for (const PruningDecision& decision : snapshot.pruning_decisions) {
    EXPECT_EQ(decision.bracket, PruningBracketOf(spec.pruning(), sample.at(decision.stage)));
    brackets.insert(decision.bracket);
  }
  EXPECT_GT(brackets.size(), 1u);
  EXPECT_TRUE(ReplayPruning(snapshot).ok()) << ReplayPruning(snapshot);
  harness.Restart();
}

// A random history: two sweeps share their trainings, one prunes by the median and one by asha; workers are
// lost and come back, the coordinator restarts, also between deciding and committing. A second
// evaluation of the database gives the same verdicts, and the pruned stages are those that both want pruned.
class PruningHistoryTest : public testing::TestWithParam<int> {};

TEST_P(PruningHistoryTest, DecisionsFromTheDatabaseComeOutTheSame) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  Harness harness(Harness::DefaultOptions(), MemoryFolder());
  constexpr int kSeeds = 14;
  v1::SweepSpec asha = SmallSweep("asha", kSeeds);
  asha.mutable_pruning()->set_measurement("train_loss");
  asha.mutable_pruning()->mutable_asha()->set_min_steps(5);
  asha.mutable_pruning()->mutable_asha()->set_reduction(2);
  asha.mutable_pruning()->mutable_asha()->set_brackets(1 + static_cast<std::uint32_t>(GetParam()) % 2);
  const SweepId sweeps[] = {harness.Submit(Pruned(SmallSweep("median", kSeeds), 2)), harness.Submit(asha)};
  std::vector<HandWorker> workers;
  int incarnation = 0;
  const auto new_worker = [&] { return HandWorker("w" + std::to_string(++incarnation), 2); };
  for (int i = 0; i < 3; ++i) workers.push_back(new_worker());
  std::map<Token, std::uint64_t> steps;
  int restarts = 0;
  const auto over = [&] { return IsOver(harness.state(), sweeps[0]) && IsOver(harness.state(), sweeps[1]); };
  for (int round = 0; round < 4000 && !over() && !testing::Test::HasFailure(); ++round) {
    harness.TickAfter(std::chrono::milliseconds(100 + below(400)));
    HandWorker& worker = workers[below(workers.size())];
    const std::uint64_t what = below(100);
    if (what < 2) {
      harness.Restart();
      ++restarts;
    } else if (what < 4) {
      // It decides, and dies before anything is committed.
      const std::string before = DurableState(harness.state());
      Effects lost;
      ASSERT_TRUE(harness.orchestrator().OnSync(worker.Sync(), harness.now(), lost).ok());
      harness.Crash();
      ++restarts;
      EXPECT_EQ(DurableState(harness.state()), before);
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
  ASSERT_TRUE(over()) << DurableState(harness.state());
  EXPECT_GT(restarts, 0);
  EXPECT_EQ(harness.fenced(), 0u);
  const Snapshot snapshot = harness.Load().value();
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
TEST_F(PruningTest, PrunedTrialThatAnEditWithdrawsAndBringsBackIsNotTrainedAgain) {
  RunTwo();
  harness.Sync(worker);
  ASSERT_EQ(harness.Status(sweep).trials().pruned(), 1u);
  v1::SweepSpec fewer = Pruned(SmallSweep("s", 3));
  *fewer.mutable_axes(0) = NumberAxis("seed", {1, 3});
  ASSERT_TRUE(harness.EditSweep(sweep, fewer).ok());
  EXPECT_EQ(harness.Status(sweep).trials().pruned(), 0u);
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 0u);
  harness.Restart();
  EXPECT_EQ(harness.Status(sweep).trials().pruned(), 0u);
  ASSERT_TRUE(harness.EditSweep(sweep, Pruned(SmallSweep("s", 3))).ok());
  harness.Tick();
  EXPECT_EQ(harness.Status(sweep).trials().pruned(), 1u);
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 1u);
  harness.Restart();
  EXPECT_EQ(harness.Status(sweep).trials().pruned(), 1u);
}

}  // namespace
}  // namespace inlier
