// Resource requests of sweeps: an attempt starts only where its resources are free, and users see the
// requests that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"
#include "tests/coordinator/scheduling/stream.h"
#include "tests/coordinator/scheduling/why.h"

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

std::vector<Token> Tokens(const HandWorker& worker) {
  std::vector<Token> tokens;
  for (const auto& [token, assignment] : worker.running()) tokens.push_back(token);
  return tokens;
}

TEST(OrchestratorPlacementTest, AttemptsShareAGpuWhileTheirSharesAddUpToOne) {
  Harness harness;
  harness.Submit(Asking("third", 4, 0.333, 0));
  HandWorker worker("w", 8);
  worker.ShareGpu(80'000);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 3u);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 3);
  worker.Finish(Tokens(worker)[0]);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 3);
}

TEST(OrchestratorPlacementTest, MemoryOfTheMachineLimitsItsSlotsTogether) {
  Harness harness;
  harness.Submit(Asking("large", 3, 0, 3000));
  HandWorker worker("w", 4);
  worker.fields().set_memory_mib(8000);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 2u);
}

TEST(OrchestratorPlacementTest, ASlotWhereTheFirstDoesNotFitGetsTheNextThatDoes) {
  Harness harness;
  v1::SweepSpec large = Asking("large", 2, 0, 5000);
  large.set_priority(5);
  harness.Submit(large);
  const SweepId small = harness.Submit(Asking("small", 1, 0, 1000));
  HandWorker worker("w", 3);
  worker.fields().set_memory_mib(8000);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 2u);
  EXPECT_EQ(harness.Status(small).trials().running(), 1u);
}

TEST(OrchestratorPlacementTest, AnAttemptWithoutARequestTakesItsSlotsShareNextToOthers) {
  Harness harness;
  v1::SweepSpec large = Asking("large", 1, 0, 7000);
  large.set_priority(5);
  harness.Submit(large);
  const SweepId silent = harness.Submit(SmallSweep("silent", 3));
  HandWorker worker("w", 4);
  worker.fields().set_memory_mib(8000);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 1u);  // 1000 MiB are left, 2000 are a slot's part.
  worker.Finish(Tokens(worker)[0]);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 1u);  // Its evaluation asks for as much.
  worker.Finish(Tokens(worker)[0]);
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(silent).trials().running(), 3u);
}

TEST(OrchestratorPlacementTest, AListeningWorkerIsPushedFittingWorkAheadOfOlderWaiters) {
  Harness harness;
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

TEST(OrchestratorPlacementTest, ResourcesOfAnEndedAttemptAreFreeWhenItsProcessIsGone) {
  Harness harness;
  const SweepId first = harness.Submit(Asking("first", 1, 0, 6000));
  HandWorker worker("w", 2);
  worker.fields().set_memory_mib(8000);
  harness.Sync(worker);
  const v1::WorkerSync still_there = worker.Sync();
  ASSERT_TRUE(harness.TrySync(still_there).ok());
  harness.CancelSweep(first);
  harness.Submit(Asking("second", 1, 0, 6000));
  v1::WorkerSync stopping = worker.Sync();
  auto reply = harness.TrySync(stopping);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->desired_size(), 0);  // The other slot is free, and the memory is not.
  worker.Take(*reply);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
}

TEST(OrchestratorPlacementTest, CapacityAndUsageSurviveARestart) {
  Harness harness;
  harness.Submit(Asking("share", 3, 0.4, 0));
  HandWorker worker("w", 4);
  worker.ShareGpu(1000);
  worker.fields().set_memory_mib(8000);
  harness.Sync(worker);
  ASSERT_EQ(worker.running().size(), 2u);
  harness.Restart();
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
  worker.Finish(Tokens(worker)[0]);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
}

TEST(OrchestratorPlacementTest, AnEditOfTheRequestAppliesToWaitingStages) {
  Harness harness;
  v1::SweepSpec spec = Asking("s", 2, 0, 9000);
  const SweepId sweep = harness.Submit(spec);
  HandWorker worker("w", 2);
  worker.fields().set_memory_mib(8000);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);
  spec.mutable_resources()->set_memory_mib(4000);
  v1::EditSweepRequest request;
  request.set_sweep(sweep.ToString());
  *request.mutable_spec() = spec;
  ASSERT_TRUE(harness.Ask(&EditSweep, request).ok());
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
  harness.Restart();
}

TEST(OrchestratorPlacementTest, AStageOfTwoSweepsRunsByTheRequestOfTheOneItIsChargedTo) {
  Harness harness;
  v1::SweepSpec large = SmallSweep("large", 1), small = SmallSweep("small", 1);
  large.mutable_resources()->set_memory_mib(9000);
  small.mutable_resources()->set_memory_mib(100);
  harness.Submit(large);
  harness.Submit(small);
  HandWorker worker("w", 1);
  worker.fields().set_memory_mib(8000);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
  EXPECT_THAT(DurableState(harness.orchestrator().state()), HasSubstr("sweep=s-2 yields= request=0/100/0"));
}

TEST(OrchestratorPlacementTest, WhyNamesTheLackingAndTheFreeResources) {
  Harness harness;
  harness.Submit(Asking("s", 2, 0, 5000));
  HandWorker worker("w", 2);
  worker.fields().set_memory_mib(8000);
  harness.Sync(worker);
  ASSERT_EQ(worker.running().size(), 1u);
  const std::string why = WhyOf(harness, "t-2");
  EXPECT_THAT(why, HasSubstr("it needs 5000 MiB of memory, and no free slot has that now"));
  EXPECT_THAT(why, HasSubstr("worker worker-w has 3000 of 8000 MiB of memory free, and no GPU"));
  EXPECT_THAT(why, Not(HasSubstr("could ever")));
}

TEST(OrchestratorPlacementTest, WhyFlagsAtOnceAStageThatNoRegisteredWorkerCanRun) {
  Harness harness;
  harness.Submit(Asking("s", 1, 0.5, 9000));
  EXPECT_THAT(WhyOf(harness, "t-1"), HasSubstr("no worker is connected"));
  HandWorker cpu("cpu", 2);
  cpu.fields().set_memory_mib(8000);
  harness.Sync(cpu);
  EXPECT_THAT(
      WhyOf(harness, "t-1"),
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
  EXPECT_THAT(WhyOf(harness, "t-1"), Not(HasSubstr("could ever")));
  EXPECT_EQ(harness.Status(SweepId(1)).warnings_size(), 0);
}

}  // namespace
}  // namespace inlier
