#include "coordinator/quarantine/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

class QuarantineTest : public testing::Test {
 protected:
  // Every attempt of the worker crashes, every one of the other workers has a result; until nothing runs.
  void RunWithSick(HandWorker& sick, std::vector<HandWorker*> others) {
    for (int round = 0; round < 200; ++round) {
      harness_.TickAfter(seconds(2));
      Fail(sick);
      for (HandWorker* worker : others) {
        harness_.Sync(*worker);
        for (const Token token : worker->tokens()) worker->Finish(token);
        harness_.Sync(*worker);
      }
    }
  }
  void Fail(HandWorker& sick) {
    harness_.Sync(sick);
    for (const Token token : sick.tokens()) {
      sick.Emit(token, FailureEvent(v1::CRASHED, "CUDA error: an illegal memory access"));
      ++failed_;
    }
    harness_.Sync(sick);
  }
  v1::WorkerStatus StatusOf(const std::string& incarnation) {
    const v1::ListWorkersResponse response = ListWorkers(harness_.state());
    for (const v1::WorkerStatus& worker : response.workers()) {
      if (worker.incarnation() == incarnation) return worker;
    }
    return {};
  }
  std::string Events(const std::string& kind) {
    return harness_.Query("SELECT message FROM event WHERE kind = '" + kind + "'");
  }

  Harness harness_;
  int failed_ = 0;
};

TEST_F(QuarantineTest, AWorkerWhoseAttemptsAllFailGetsNoMoreAndTheSweepEndsOnTheOther) {
  const SweepId sweep = harness_.Submit(SmallSweep("s", 20));
  HandWorker sick("sick", 1), well("well", 1);
  RunWithSick(sick, {&well});
  EXPECT_EQ(harness_.Status(sweep).state(), v1::COMPLETE);
  EXPECT_EQ(harness_.Status(sweep).trials().succeeded(), 20u);
  EXPECT_EQ(harness_.Status(sweep).trials().failed(), 0u);
  EXPECT_GE(failed_, 3);
  EXPECT_LE(failed_, 5);  // Three, and probes.
  ASSERT_THAT(StatusOf("sick").quarantined(), SizeIs(1));
  EXPECT_EQ(StatusOf("sick").quarantined(0).device(), "cpu");
  EXPECT_THAT(StatusOf("sick").quarantined(0).reason(), HasSubstr("3 attempts in a row failed on it"));
  EXPECT_THAT(StatusOf("well").quarantined(), SizeIs(0));
  EXPECT_THAT(
      harness_.Query(
          "SELECT failure, message FROM attempt WHERE worker = 'sick' ORDER BY token DESC LIMIT 1"),
      HasSubstr(
          "SICK_DEVICE|by cpu of worker worker-sick, where other attempts fail too (CRASHED: CUDA error"));
  EXPECT_THAT(Events("device_quarantined"), HasSubstr("cpu of worker worker-sick gets no attempts"));
  EXPECT_EQ(harness_.state().stats.quarantines, 1u);
}

TEST_F(QuarantineTest, AProbeThatHasAResultEndsIt) {
  harness_.Submit(SmallSweep("s", 40));
  HandWorker sick("sick", 2), well("well", 1);
  harness_.Sync(well);
  for (int i = 0; i < 4 && StatusOf("sick").quarantined().empty(); ++i) {
    harness_.TickAfter(seconds(2));
    Fail(sick);
  }
  ASSERT_THAT(StatusOf("sick").quarantined(), SizeIs(1));
  harness_.Sync(sick);
  EXPECT_TRUE(sick.running().empty());
  // A probe: one attempt, though there are two slots.
  const auto pass_a_minute = [&] {
    for (int i = 0; i < 13; ++i) {
      harness_.TickAfter(seconds(5));
      harness_.Sync(well);
      harness_.Sync(sick);
    }
  };
  pass_a_minute();
  ASSERT_THAT(sick.running(), SizeIs(1));
  Fail(sick);
  EXPECT_EQ(StatusOf("sick").quarantined(0).probes_failed(), 1u);
  pass_a_minute();
  EXPECT_TRUE(sick.running().empty()) << "the second waits twice as long";
  pass_a_minute();
  ASSERT_THAT(sick.running(), SizeIs(1));
  harness_.Finish(sick, sick.tokens()[0]);
  harness_.Sync(sick);
  EXPECT_THAT(sick.running(), SizeIs(2));
  EXPECT_THAT(StatusOf("sick").quarantined(), SizeIs(0));
  EXPECT_THAT(Events("device_released"), HasSubstr("an attempt on it had a result"));
}

TEST_F(QuarantineTest, OneDeviceOfAWorkerIsEnough) {
  harness_.Submit(SmallSweep("s", 20));
  HandWorker worker("w", 2);
  worker.ShareGpu(1000);
  HandWorker cpu("c", 1);
  RunWithSick(worker, {&cpu});
  ASSERT_THAT(StatusOf("w").quarantined(), SizeIs(1));
  EXPECT_EQ(StatusOf("w").quarantined(0).device(), "cuda:0");
}

TEST_F(QuarantineTest, WhereEveryDeviceFailsTheTrialsAreAtFault) {
  const SweepId sweep = harness_.Submit(SmallSweep("s", 10));
  HandWorker first("first", 1), second("second", 1);
  for (int round = 0; round < 100; ++round) {
    harness_.TickAfter(seconds(2));
    Fail(first);
    Fail(second);
  }
  EXPECT_EQ(harness_.Status(sweep).state(), v1::COMPLETE);
  EXPECT_EQ(harness_.Status(sweep).trials().failed(), 10u);
  EXPECT_THAT(StatusOf("first").quarantined(), SizeIs(0));
  EXPECT_THAT(StatusOf("second").quarantined(), SizeIs(0));
}

TEST_F(QuarantineTest, TheOnlyWorkerIsNeverInQuarantine) {
  const SweepId sweep = harness_.Submit(SmallSweep("s", 10));
  HandWorker only("only", 1);
  RunWithSick(only, {});
  EXPECT_EQ(harness_.Status(sweep).trials().failed(), 10u);
  EXPECT_THAT(StatusOf("only").quarantined(), SizeIs(0));
  EXPECT_EQ(harness_.state().stats.quarantines, 0u);
}

TEST_F(QuarantineTest, AStageThatCrashesEverywhereStillFails) {
  const SweepId sweep = harness_.Submit(SmallSweep("s", 1));
  HandWorker first("first", 1), second("second", 1);
  int attempts = 0;
  for (int round = 0; round < 100 && harness_.Status(sweep).trials().failed() == 0; ++round) {
    harness_.TickAfter(seconds(30));
    for (HandWorker* worker : {&first, &second}) {
      const int before = failed_;
      Fail(*worker);
      attempts += failed_ - before;
    }
  }
  EXPECT_EQ(harness_.Status(sweep).trials().failed(), 1u);
  EXPECT_LE(attempts, 6);
}

TEST_F(QuarantineTest, OutOfMemoryAndLossesAreNotTheDevices) {
  harness_.Submit(SmallSweep("s", 10));
  HandWorker worker("w", 1), other("o", 1);
  harness_.Sync(other);
  for (int i = 0; i < 6; ++i) {
    harness_.TickAfter(seconds(2));
    harness_.Sync(worker);
    for (const Token token : worker.tokens()) worker.Emit(token, OutOfMemoryEvent(0));
    harness_.Sync(worker);
  }
  EXPECT_THAT(StatusOf("w").quarantined(), SizeIs(0));
}

TEST_F(QuarantineTest, ExplainNamesTheDevice) {
  const SweepId sweep = harness_.Submit(SmallSweep("s", 40));
  HandWorker sick("sick", 1), well("well", 1);
  harness_.Sync(well);
  for (int i = 0; i < 4; ++i) {
    harness_.TickAfter(seconds(2));
    Fail(sick);
  }
  EXPECT_THAT(harness_.Why(sweep), HasSubstr("cpu of worker worker-sick is in quarantine"));
}

}  // namespace
}  // namespace inlier
