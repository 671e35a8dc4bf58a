// A stage that ran out of memory is tried again with more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"

namespace inlier {
namespace {

using testing::HasSubstr;

HandWorker Machine(std::uint64_t memory_mib, std::uint32_t slots) {
  HandWorker worker("w", slots);
  worker.fields().set_memory_mib(memory_mib);
  return worker;
}

v1::SweepSpec Asking(std::uint32_t memory_mib) {
  v1::SweepSpec sweep = SmallSweep("s", 1);
  if (memory_mib > 0) sweep.mutable_resources()->set_memory_mib(memory_mib);
  return sweep;
}

// Request of the only live attempt: thousandths of a GPU, MiB, MiB of the GPU.
std::string Request(Harness& harness) {
  const std::string state = DurableState(harness.orchestrator().state());
  const std::size_t begin = state.find("request=", state.find("\ntoken ") + 1);
  return begin == std::string::npos ? "" : state.substr(begin + 8, state.find('\n', begin) - begin - 8);
}

std::string Message(Harness& harness, SweepId sweep) {
  const v1::SweepUpdate update = DescribeSweep(harness.orchestrator().state(), sweep, harness.now(), 0);
  return update.notices_size() == 0 ? "" : update.notices(update.notices_size() - 1);
}

TEST(OrchestratorMemoryTest, TheNextAttemptAsksForHalfAsMuchAgain) {
  Harness harness;
  const SweepId sweep = harness.Submit(Asking(1024));
  HandWorker worker = Machine(8192, 2);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(0));
  harness.Sync(worker);
  EXPECT_EQ(Request(harness), "0/1536/0");
  EXPECT_THAT(Message(harness, sweep),
              HasSubstr("OUT_OF_MEMORY: too large; tried again, with 1536 MiB of memory"));
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(0));
  harness.Sync(worker);
  EXPECT_EQ(Request(harness), "0/2304/0");
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(0));
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(Message(harness, sweep), HasSubstr("ran out of memory 3 times (retry.max_out_of_memory = 3)"));
}

TEST(OrchestratorMemoryTest, MeasuredUsageCountsWhereItExceedsTheRequest) {
  Harness harness;
  harness.Submit(Asking(1024));
  HandWorker worker = Machine(8192, 2);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(2048));
  harness.Sync(worker);
  EXPECT_EQ(Request(harness), "0/3072/0");
}

TEST(OrchestratorMemoryTest, AnAttemptWithoutARequestHasItsSlotsShare) {
  Harness harness;
  harness.Submit(Asking(0));
  HandWorker worker = Machine(8192, 4);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(500));
  harness.Sync(worker);
  EXPECT_EQ(Request(harness), "0/3072/0");
}

TEST(OrchestratorMemoryTest, ARetryAfterGpuMemoryRunsOutAsksForMoreOfTheGpu) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_resources()->set_gpu(0.25);
  harness.Submit(spec);
  HandWorker worker = Machine(8192, 4);
  worker.ShareGpu(40'960);
  harness.Sync(worker);
  v1::TrialEvent event = OutOfMemoryEvent(100);
  event.mutable_outcome()->set_gpu_out_of_memory(true);
  worker.Emit(OnlyToken(worker), event);
  harness.Sync(worker);
  EXPECT_EQ(Request(harness), "250/0/15360");
}

TEST(OrchestratorMemoryTest, NoRetryAsksForMoreThanTheLargestWorkerHasAndTheStageFailsWithTheRemedy) {
  Harness harness;
  const SweepId sweep = harness.Submit(Asking(1536));
  HandWorker worker = Machine(2048, 2);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(0));
  harness.Sync(worker);
  EXPECT_EQ(Request(harness), "0/2048/0");
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(2000));
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(Message(harness, sweep),
              HasSubstr("FAILED, OUT_OF_MEMORY: too large; it had 2048 MiB, all that the largest registered "
                        "worker has; give the training less to hold"));
  EXPECT_THAT(Message(harness, sweep), HasSubstr("or start a worker with more memory, then retry it"));
  // On a larger one a retry continues from there.
  HandWorker larger("larger", 1);
  larger.fields().set_memory_mib(4096);
  EXPECT_EQ(harness.RetrySweep(sweep), 1u);
  harness.Sync(larger);
  EXPECT_EQ(Request(harness), "0/2048/0");
  larger.Emit(OnlyToken(larger), OutOfMemoryEvent(0));
  harness.Sync(larger);
  EXPECT_EQ(Request(harness), "0/3072/0");
}

TEST(OrchestratorMemoryTest, WithoutAnyMeasureItIsTriedAgainAsItWas) {
  Harness harness;
  harness.Submit(Asking(0));
  HandWorker worker("w", 2);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(0));
  harness.Sync(worker);
  EXPECT_EQ(Request(harness), "0/0/0");
}

TEST(OrchestratorMemoryTest, ARestartKeepsTheNeedOfTheStageAndTheRequestOfTheAttempt) {
  Harness harness;
  const SweepId sweep = harness.Submit(Asking(1024));
  HandWorker worker = Machine(1600, 2);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(0));
  v1::WorkerSync sync = worker.Sync();
  sync.set_draining(true);  // It waits.
  ASSERT_TRUE(harness.TrySync(sync).ok());
  harness.Restart();
  harness.Sync(worker);
  EXPECT_EQ(Request(harness), "0/1536/0");
  harness.Restart();
  EXPECT_EQ(Request(harness), "0/1536/0");
  harness.Sync(worker);
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  harness.Restart();
}

TEST(OrchestratorMemoryTest, ThePeakOfEveryAttemptIsStoredWithIt) {
  Harness harness;
  harness.Submit(Asking(0));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  worker.Emit(token, CheckpointEvent(100, true));
  v1::TrialEvent outcome = OutcomeEvent(v1::Outcome::SUCCEEDED);
  outcome.mutable_outcome()->set_peak_memory_mib(777);
  outcome.mutable_outcome()->set_peak_gpu_memory_mib(55);
  worker.Emit(token, outcome);
  harness.Sync(worker);
  const auto rows = harness.Query(
      "SELECT token, peak_memory_mib, peak_gpu_memory_mib FROM attempt WHERE peak_memory_mib IS NOT NULL");
  EXPECT_EQ(rows, "1|777|55\n");
}

}  // namespace
}  // namespace inlier
