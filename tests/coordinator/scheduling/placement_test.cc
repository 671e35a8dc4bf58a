// Resource requests of sweeps: an attempt starts only where its resources are free, and users see the
// requests that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"
#include "tests/coordinator/scheduling/stream.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::Not;

v1::SweepSpec Asking(const std::string& name, int seeds, double gpu, std::uint32_t memory_mib) {
  v1::SweepSpec sweep = SmallSweep(name, seeds);
  // No two sweeps share a training.
  sweep.mutable_base()->mutable_training()->set_steps(100 + static_cast<std::uint32_t>(name[0]));
  if (gpu > 0) sweep.mutable_resources()->set_gpu(gpu);
  if (memory_mib > 0) sweep.mutable_resources()->set_memory_mib(memory_mib);
  return sweep;
}

using OrchestratorPlacementTest = OneWorkerTest;

TEST_F(OrchestratorPlacementTest, AttemptsShareAGpuWhileTheirSharesAddUpToOne) {
  Lease(Asking("third", 4, 0.333, 0), Machine(0, 8, 80'000));
  EXPECT_EQ(worker.running().size(), 3u);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 3);
  EXPECT_EQ(harness.Finish(worker, worker.tokens()[0]).desired_size(), 3);
}

TEST_F(OrchestratorPlacementTest, MemoryOfTheMachineLimitsItsSlotsTogether) {
  Lease(Asking("large", 3, 0, 3000), Machine(8000, 4));
  EXPECT_EQ(worker.running().size(), 2u);
}

TEST_F(OrchestratorPlacementTest, ASlotWhereTheFirstDoesNotFitGetsTheNextThatDoes) {
  v1::SweepSpec large = Asking("large", 2, 0, 5000);
  large.set_priority(5);
  harness.Submit(large);
  const SweepId small = harness.Submit(Asking("small", 1, 0, 1000));
  worker = Machine(8000, 3);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 2u);
  EXPECT_EQ(harness.Status(small).trials().running(), 1u);
}

TEST_F(OrchestratorPlacementTest, AnAttemptWithoutARequestTakesItsSlotsShareNextToOthers) {
  v1::SweepSpec large = Asking("large", 1, 0, 7000);
  large.set_priority(5);
  harness.Submit(large);
  const SweepId silent = harness.Submit(SmallSweep("silent", 3));
  worker = Machine(8000, 4);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 1u);  // 1000 MiB are left, 2000 are a slot's part.
  harness.Finish(worker, worker.tokens()[0]);
  EXPECT_EQ(worker.running().size(), 1u);  // Its evaluation asks for as much.
  harness.Finish(worker, worker.tokens()[0]);
  EXPECT_EQ(harness.Status(silent).trials().running(), 3u);
}

TEST_F(OrchestratorPlacementTest, AListeningWorkerIsPushedFittingWorkAheadOfOlderWaiters) {
  HandWorker cpu("cpu", 2), gpu("gpu", 2);
  gpu.ShareGpu(1000);
  SyncByStream(harness, cpu);
  SyncByStream(harness, gpu);
  harness.Submit(Asking("gpu", 2, 0.5, 0));
  auto pushes = Offer(harness);
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_EQ(pushes.at("gpu").desired_size(), 2);
  // A stage that fits nowhere now hinders no other stage, and starts when its resources are free.
  const SweepId more = harness.Submit(Asking("more", 1, 1, 0));
  EXPECT_TRUE(Offer(harness).empty());
  harness.Submit(SmallSweep("plain", 1));
  pushes = Offer(harness);
  EXPECT_EQ(pushes.size(), 1u);
  EXPECT_EQ(pushes.at("cpu").desired_size(), 1);
  gpu.Take(v1::CoordinatorSync());
  EXPECT_EQ(harness.CancelSweep(SweepId(1)), 2u);
  EXPECT_EQ(Offer(harness).at("gpu").desired_size(), 1);
  EXPECT_EQ(harness.Status(more).trials().running(), 1u);
}

TEST_F(OrchestratorPlacementTest, ResourcesOfAnEndedAttemptAreFreeWhenItsProcessIsGone) {
  const SweepId first = harness.Submit(Asking("first", 1, 0, 6000));
  worker = Machine(8000, 2);
  harness.Sync(worker);
  const v1::WorkerSync still_there = worker.Sync();
  ASSERT_TRUE(harness.TrySync(still_there).ok());
  harness.CancelSweep(first);
  harness.Submit(Asking("second", 1, 0, 6000));
  v1::WorkerSync stopping = worker.Sync();
  auto reply = harness.TrySync(stopping).value();
  EXPECT_EQ(reply.desired_size(), 0);  // The other slot is free, and the memory is not.
  worker.Take(reply);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
}

TEST_F(OrchestratorPlacementTest, CapacityAndUsageSurviveARestart) {
  Lease(Asking("share", 3, 0.4, 0), Machine(8000, 4, 1000));
  ASSERT_EQ(worker.running().size(), 2u);
  harness.Restart();
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
  EXPECT_EQ(harness.Finish(worker, worker.tokens()[0]).desired_size(), 2);
}

TEST_F(OrchestratorPlacementTest, AnEditOfTheRequestAppliesToWaitingStages) {
  v1::SweepSpec spec = Asking("s", 2, 0, 9000);
  sweep = harness.Submit(spec);
  worker = Machine(8000, 2);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);
  spec.mutable_resources()->set_memory_mib(4000);
  ASSERT_TRUE(harness.EditSweep(sweep, spec).ok());
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
  harness.Restart();
}

TEST_F(OrchestratorPlacementTest, AStageOfTwoSweepsRunsByTheRequestOfTheOneItIsChargedTo) {
  v1::SweepSpec large = SmallSweep("large", 1), small = SmallSweep("small", 1);
  large.mutable_resources()->set_memory_mib(9000);
  small.mutable_resources()->set_memory_mib(100);
  harness.Submit(large);
  harness.Submit(small);
  worker.fields().set_memory_mib(8000);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
  EXPECT_THAT(DurableState(harness.state()), HasSubstr("sweep=s-2 yields= request=0/100/0"));
}

TEST_F(OrchestratorPlacementTest, WhyNamesTheLackingAndTheFreeResources) {
  Lease(Asking("s", 2, 0, 5000), Machine(8000, 2));
  ASSERT_EQ(worker.running().size(), 1u);
  const std::string why = harness.Why("t-2");
  EXPECT_THAT(why, HasSubstr("it needs 5000 MiB of memory, and no free slot has that now"));
  EXPECT_THAT(why, HasSubstr("worker worker-w has 3000 of 8000 MiB of memory free, and no GPU"));
  EXPECT_THAT(why, Not(HasSubstr("could ever")));
}

TEST_F(OrchestratorPlacementTest, WhyFlagsAtOnceAStageThatNoRegisteredWorkerCanRun) {
  harness.Submit(Asking("s", 1, 0.5, 9000));
  EXPECT_THAT(harness.Why("t-1"), HasSubstr("no worker is connected"));
  HandWorker cpu("cpu", 2);
  cpu.fields().set_memory_mib(8000);
  harness.Sync(cpu);
  EXPECT_THAT(
      harness.Why("t-1"),
      HasSubstr("no registered worker could ever run this: it needs 0.5 of a GPU, 9000 MiB of memory; the "
                "largest machine has 8000 MiB, none has a GPU (lower `resources` of the sweep with "
                "inlier edit, or start a larger worker)"));
  ASSERT_EQ(harness.Status(SweepId(1)).warnings_size(), 1);
  EXPECT_THAT(harness.Status(SweepId(1)).warnings(0), HasSubstr("no registered worker could ever run this"));
  HandWorker gpu("gpu", 1);
  gpu.ShareGpu(1000);
  gpu.fields().set_memory_mib(16'000);
  gpu.fields().set_draining(true);
  harness.Sync(gpu);
  EXPECT_THAT(harness.Why("t-1"), Not(HasSubstr("could ever")));
  EXPECT_EQ(harness.Status(SweepId(1)).warnings_size(), 0);
}

}  // namespace
}  // namespace inlier
