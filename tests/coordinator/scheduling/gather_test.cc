// Gangs: attempts of several processes start together on one worker, are not starved, and never hold each other up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"
#include "tests/coordinator/scheduling/stream.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

v1::SweepSpec Named(const std::string& name, int seeds) {
  v1::SweepSpec sweep = SmallSweep(name, seeds);
  // No two sweeps share a training.
  sweep.mutable_base()->mutable_training()->set_steps(100 + static_cast<std::uint32_t>(name.back()));
  return sweep;
}

v1::SweepSpec Gang(const std::string& name, std::uint32_t processes, int seeds = 1) {
  v1::SweepSpec sweep = Named(name, seeds);
  sweep.mutable_base()->mutable_training()->set_batch_size(48);
  sweep.mutable_resources()->set_processes(processes);
  return sweep;
}

// The running attempts of several processes.
std::vector<Token> Gangs(const HandWorker& worker) {
  std::vector<Token> tokens;
  for (const auto& [token, assignment] : worker.running()) {
    if (assignment.further_slots_size() > 0) tokens.push_back(token);
  }
  return tokens;
}

Token Single(const HandWorker& worker) {
  for (const auto& [token, assignment] : worker.running()) {
    if (assignment.further_slots_size() == 0) return token;
  }
  return 0;
}

using GatherTest = OneWorkerTest;

TEST_F(GatherTest, AGangHasASlotForEachProcessAndItsEvaluationOne) {
  v1::SweepSpec sweep = Gang("gang", 3);
  sweep.mutable_resources()->set_shard_optimizer(true);
  harness.Submit(sweep);
  worker = harness.Connect("w", 4);
  ASSERT_EQ(Gangs(worker).size(), 1u);
  const Token token = Gangs(worker)[0];
  const v1::Assignment& assignment = worker.running().at(token);
  EXPECT_EQ(assignment.slot(), 0u);
  EXPECT_THAT(assignment.further_slots(), ElementsAre(1u, 2u));
  EXPECT_TRUE(assignment.shard_optimizer());
  EXPECT_EQ(harness.Query("SELECT slot, further_slots FROM attempt"), "0|[1,2]\n");
  EXPECT_THAT(harness.Why("t-1"), HasSubstr("slots 0, 1, 2"));
  harness.Restart();
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
  EXPECT_THAT(DurableState(harness.state()), HasSubstr("further=1,2"));
  harness.Finish(worker, token);
  ASSERT_EQ(worker.running().size(), 1u);
  EXPECT_TRUE(Gangs(worker).empty()) << "an evaluation has one process";
}

TEST_F(GatherTest, SlotsThatGetFreeAreKeptForTheGangWhoseTurnItIs) {
  Lease(Named("singles", 12), HandWorker("w", 3));
  ASSERT_EQ(worker.running().size(), 3u);
  harness.Submit(Gang("gang", 3));
  for (std::size_t left : {2u, 1u}) {
    harness.Finish(worker, Single(worker));
    EXPECT_EQ(worker.running().size(), left);
    EXPECT_THAT(harness.Why("t-13"),
                HasSubstr("worker worker-w starts nothing else until they are free there"));
    EXPECT_THAT(harness.Why("t-12"), HasSubstr("worker worker-w is kept for an attempt of 3 processes"));
  }
  // Another worker takes what the kept one does not.
  HandWorker other = harness.Connect("x");
  EXPECT_EQ(other.running().size(), 1u);
  harness.Finish(worker, Single(worker));
  ASSERT_EQ(Gangs(worker).size(), 1u);
  harness.Finish(worker, Gangs(worker)[0]);
  EXPECT_EQ(worker.running().size(), 3u);
}

// With evaluations and trainings of others always ready.
TEST_F(GatherTest, AGangIsNotStarvedByAStreamOfOthers) {
  Lease(Named("singles", 200), HandWorker("w", 4));
  harness.Submit(Gang("gang", 4, 3));
  int gangs = 0;
  for (int round = 0; round < 100; ++round) {
    const auto running = Gangs(worker);
    gangs += static_cast<int>(running.size());
    harness.Finish(worker, running.empty() ? Single(worker) : running[0]);
    ASSERT_FALSE(worker.running().empty());
  }
  EXPECT_EQ(gangs, 3);
}

TEST_F(GatherTest, NothingIsKeptBeforeTheGangsTurnAndNothingAfterIt) {
  v1::SweepSpec singles = Named("singles", 12);
  singles.set_priority(1);
  Lease(singles, HandWorker("w", 2));
  const SweepId gang = harness.Submit(Gang("gang", 2));
  harness.Finish(worker, Single(worker));
  EXPECT_EQ(worker.running().size(), 2u) << "what has a higher priority goes before";
  v1::SweepSpec urgent = Gang("urgent", 2);
  urgent.set_priority(2);
  const SweepId other = harness.Submit(urgent);
  harness.Finish(worker, Single(worker));
  EXPECT_EQ(worker.running().size(), 1u) << "kept";
  harness.CancelSweep(other);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 2u) << "given back";
  harness.CancelSweep(gang);
}

TEST_F(GatherTest, GangsOfSeveralSweepsAllStart) {
  harness.Submit(Named("singles", 8));
  HandWorker first("a", 2), second("b", 2);
  harness.Sync(first);
  harness.Sync(second);
  for (const char* name : {"gang1", "gang2", "gang3"}) harness.Submit(Gang(name, 2, 2));
  int gangs = 0;
  for (int round = 0; round < 60; ++round) {
    for (HandWorker* worker : {&first, &second}) {
      if (!Gangs(*worker).empty()) {
        ++gangs;
        worker->Finish(Gangs(*worker)[0]);
      } else if (const Token token = Single(*worker); token != 0) {
        worker->Finish(token);
      }
      harness.Sync(*worker);
    }
  }
  EXPECT_EQ(gangs, 6);
  for (std::uint64_t sweep = 1; sweep <= 4; ++sweep)
    EXPECT_EQ(harness.Status(SweepId(sweep)).state(), v1::COMPLETE) << sweep;
}

TEST_F(GatherTest, AListeningWorkerIsPushedAGangOnceItsSlotsAreFree) {
  harness.Submit(Named("singles", 2));
  worker = HandWorker("w", 2);
  SyncByStream(harness, worker);
  ASSERT_EQ(worker.running().size(), 2u);
  harness.CancelSweep(SweepId(1));
  SyncByStream(harness, worker);  // It learns of the cancellation,
  SyncByStream(harness, worker);  // and reports that both are gone.
  harness.Submit(Gang("gang", 2));
  const auto pushes = Offer(harness);
  ASSERT_EQ(pushes.size(), 1u);
  ASSERT_EQ(pushes.at("w").desired_size(), 1);
  EXPECT_THAT(pushes.at("w").desired(0).further_slots(), ElementsAre(1u));
}

TEST_F(GatherTest, AGangThatPreemptsGetsAsManySlotsAsItNeeds) {
  Lease(Named("singles", 3), HandWorker("w", 3));
  ASSERT_EQ(worker.running().size(), 3u);
  v1::SweepSpec gang = Gang("gang", 2);
  gang.set_priority(5);
  gang.set_preempts(true);
  harness.Submit(gang);
  harness.TickAfter(std::chrono::seconds(1));
  const auto reply = harness.TrySync(worker.Sync()).value();
  EXPECT_EQ(reply.stop_size(), 2);
  for (const v1::Stop& stop : reply.stop()) worker.Emit(stop.token(), FailureEvent(v1::PREEMPTED, "stopped"));
  harness.Sync(worker);
  EXPECT_EQ(Gangs(worker).size(), 1u);
}

// One worker is kept for the gang already when the attempts of another are asked to yield.
TEST_F(GatherTest, SlotsThatAreYieldedToAGangAreKeptForIt) {
  harness.Submit(Named("singles", 12));
  HandWorker first("a", 2), second("b", 2);
  harness.Sync(first);
  harness.Advance(std::chrono::seconds(1));
  harness.Sync(second);
  v1::SweepSpec gang = Gang("gang", 2);
  gang.set_priority(5);
  gang.set_preempts(true);
  harness.Submit(gang);
  harness.Finish(first, Single(first));
  EXPECT_EQ(first.running().size(), 1u) << "kept";
  harness.TickAfter(std::chrono::seconds(1));
  const auto reply = harness.TrySync(second.Sync()).value();
  ASSERT_EQ(reply.stop_size(), 2) << "they started last";
  second.Emit(reply.stop(0).token(), FailureEvent(v1::PREEMPTED, "stopped"));
  EXPECT_EQ(harness.TrySync(second.Sync()).value().desired_size(), 0) << "its slot is kept";
  harness.Report(second, reply.stop(1).token(), FailureEvent(v1::PREEMPTED, "stopped"));
  EXPECT_EQ(Gangs(second).size(), 1u);
  harness.Sync(first);
  EXPECT_EQ(first.running().size(), 2u) << "given back";
}

TEST_F(GatherTest, AGangIsNotGivenTheMemoryOfAMachineWithTooFewSlots) {
  harness.Submit(Gang("gang", 4));
  HandWorker large("large", 1), worker("w", 4);
  large.fields().set_memory_mib(64000);
  worker.fields().set_memory_mib(4000);
  harness.Sync(large);
  harness.Sync(worker);
  ASSERT_EQ(Gangs(worker).size(), 1u);
  harness.Report(worker, Gangs(worker)[0], OutOfMemoryEvent(900));
  EXPECT_TRUE(worker.running().empty());
  EXPECT_THAT(harness.Query("SELECT message FROM stage WHERE kind = 'TRAIN_STAGE'"),
              HasSubstr("it had 1000 MiB, all that the largest registered worker has"));
}

TEST_F(GatherTest, AGangThatCanNeverFitHasAClearReason) {
  Lease(Gang("gang", 4), Machine(8000, 3));
  EXPECT_TRUE(worker.running().empty());
  EXPECT_THAT(harness.Why("t-1"),
              HasSubstr("no registered worker could ever run this: it needs 4 processes on one worker; the "
                        "largest machine has 8000 MiB, and no worker has more than 3 slots (lower "
                        "`resources` of the sweep with inlier edit, or start a larger worker)"));
  ASSERT_EQ(harness.Status(SweepId(1)).warnings_size(), 1);
  // It hinders nothing else.
  harness.Submit(Named("singles", 3));
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 3u);
  // Slots on one GPU are not for one gang.
  HandWorker gpu("gpu", 4);
  gpu.ShareGpu(1000);
  harness.Sync(gpu);
  EXPECT_TRUE(Gangs(gpu).empty());
  EXPECT_THAT(harness.Why("t-1"), HasSubstr("or more than 1 GPU"));
  HandWorker large = harness.Connect("large", 4);
  EXPECT_EQ(Gangs(large).size(), 1u);
  EXPECT_THAT(harness.Why("t-1"), Not(HasSubstr("could ever")));
}

}  // namespace
}  // namespace inlier
