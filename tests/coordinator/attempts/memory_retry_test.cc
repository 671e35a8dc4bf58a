// A stage that ran out of memory is tried again with more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"

namespace inlier {
namespace {

using testing::HasSubstr;

v1::SweepSpec Asking(std::uint32_t memory_mib) {
  v1::SweepSpec sweep = SmallSweep("s", 1);
  if (memory_mib > 0) sweep.mutable_resources()->set_memory_mib(memory_mib);
  return sweep;
}

struct OrchestratorMemoryTest : OneWorkerTest {
  // Request of the only live attempt: thousandths of a GPU, MiB, MiB of the GPU.
  std::string Request() const {
    const std::string state = DurableState(harness.state());
    const std::size_t begin = state.find("request=", state.find("\ntoken ") + 1);
    return begin == std::string::npos ? "" : state.substr(begin + 8, state.find('\n', begin) - begin - 8);
  }
  // That of the next one, when this one ran out of memory with so much in use.
  std::string RequestAfter(std::uint64_t used_mib) {
    harness.Report(worker, OutOfMemoryEvent(used_mib));
    return Request();
  }
};

TEST_F(OrchestratorMemoryTest, TheNextAttemptAsksForHalfAsMuchAgain) {
  Lease(Asking(1024), Machine(8192, 2));
  EXPECT_EQ(RequestAfter(0), "0/1536/0");
  EXPECT_THAT(harness.Notices(sweep).back(),
              HasSubstr("OUT_OF_MEMORY: too large; tried again, with 1536 MiB of memory"));
  EXPECT_EQ(RequestAfter(0), "0/2304/0");
  harness.Report(worker, OutOfMemoryEvent(0));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(harness.Notices(sweep).back(),
              HasSubstr("ran out of memory 3 times (retry.max_out_of_memory = 3)"));
}

TEST_F(OrchestratorMemoryTest, MeasuredUsageCountsWhereItExceedsTheRequest) {
  Lease(Asking(1024), Machine(8192, 2));
  EXPECT_EQ(RequestAfter(2048), "0/3072/0");
}

TEST_F(OrchestratorMemoryTest, AnAttemptWithoutARequestHasItsSlotsShare) {
  Lease(Asking(0), Machine(8192, 4));
  EXPECT_EQ(RequestAfter(500), "0/3072/0");
}

TEST_F(OrchestratorMemoryTest, ARetryAfterGpuMemoryRunsOutAsksForMoreOfTheGpu) {
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_resources()->set_gpu(0.25);
  Lease(spec, Machine(8192, 4, 40'960));
  v1::TrialEvent event = OutOfMemoryEvent(100);
  event.mutable_outcome()->set_gpu_out_of_memory(true);
  harness.Report(worker, event);
  EXPECT_EQ(Request(), "250/0/15360");
}

TEST_F(OrchestratorMemoryTest, NoRetryAsksForMoreThanTheLargestWorkerHasAndTheStageFailsWithTheRemedy) {
  Lease(Asking(1536), Machine(2048, 2));
  EXPECT_EQ(RequestAfter(0), "0/2048/0");
  harness.Report(worker, OutOfMemoryEvent(2000));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(harness.Notices(sweep).back(),
              HasSubstr("FAILED, OUT_OF_MEMORY: too large; it had 2048 MiB, all that the largest registered "
                        "worker has; give the training less to hold"));
  EXPECT_THAT(harness.Notices(sweep).back(), HasSubstr("or start a worker with more memory, then retry it"));
  // On a larger one a retry continues from there.
  HandWorker larger("larger", 1);
  larger.fields().set_memory_mib(4096);
  EXPECT_EQ(harness.RetrySweep(sweep), 1u);
  harness.Sync(larger);
  EXPECT_EQ(Request(), "0/2048/0");
  harness.Report(larger, OutOfMemoryEvent(0));
  EXPECT_EQ(Request(), "0/3072/0");
}

TEST_F(OrchestratorMemoryTest, WithoutAnyMeasureItIsTriedAgainAsItWas) {
  Lease(Asking(0), HandWorker("w", 2));
  EXPECT_EQ(RequestAfter(0), "0/0/0");
}

TEST_F(OrchestratorMemoryTest, ARestartKeepsTheNeedOfTheStageAndTheRequestOfTheAttempt) {
  Lease(Asking(1024), Machine(1600, 2));
  worker.Emit(OnlyToken(worker), OutOfMemoryEvent(0));
  v1::WorkerSync sync = worker.Sync();
  sync.set_draining(true);  // It waits.
  ASSERT_TRUE(harness.TrySync(sync).ok());
  harness.Restart(worker);
  EXPECT_EQ(Request(), "0/1536/0");
  harness.Restart();
  EXPECT_EQ(Request(), "0/1536/0");
  harness.Sync(worker);
  harness.Finish(worker);
  harness.Finish(worker);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  harness.Restart();
}

TEST_F(OrchestratorMemoryTest, ThePeakOfEveryAttemptIsStoredWithIt) {
  const Token token = Lease(Asking(0));
  worker.Emit(token, CheckpointEvent(100, true));
  v1::TrialEvent outcome = OutcomeEvent(v1::Outcome::SUCCEEDED);
  outcome.mutable_outcome()->set_peak_memory_mib(777);
  outcome.mutable_outcome()->set_peak_gpu_memory_mib(55);
  harness.Report(worker, token, outcome);
  const auto rows = harness.Query(
      "SELECT token, peak_memory_mib, peak_gpu_memory_mib FROM attempt WHERE peak_memory_mib IS NOT NULL");
  EXPECT_EQ(rows, "1|777|55\n");
}

}  // namespace
}  // namespace inlier
