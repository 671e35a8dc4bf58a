#include "coordinator/attempts/retry_policy.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

// Attempts that fail with `failure` until the policy stops.
int AttemptsUntilStop(v1::FailureClass failure, const v1::RetrySpec& policy) {
  StageFailures counts;
  for (int attempts = 1; attempts < 1000; ++attempts) {
    if (!CountFailure(failure, policy, counts).again) return attempts;
  }
  return -1;
}

TEST(RetryPolicyTest, EachClassIsTriedAsOftenAsItsOwnLimit) {
  v1::RetrySpec policy;
  policy.set_max_crashes(3);
  policy.set_max_out_of_memory(2);
  policy.set_max_losses(7);
  EXPECT_EQ(AttemptsUntilStop(v1::INVALID_SPEC, policy), 1);
  EXPECT_EQ(AttemptsUntilStop(v1::OUT_OF_MEMORY, policy), 2);
  EXPECT_EQ(AttemptsUntilStop(v1::CRASHED, policy), 3);
  EXPECT_EQ(AttemptsUntilStop(v1::TIMED_OUT, policy), 3);
  EXPECT_EQ(AttemptsUntilStop(v1::STALLED, policy), 3);
  EXPECT_EQ(AttemptsUntilStop(v1::LOST, policy), 7);
  EXPECT_EQ(AttemptsUntilStop(v1::PREEMPTED, policy), 7);
  EXPECT_EQ(AttemptsUntilStop(v1::SICK_DEVICE, policy), 7);
}

TEST(RetryPolicyTest, DefaultsAreTwoCrashesOneOutOfMemoryTwentyLosses) {
  EXPECT_EQ(AttemptsUntilStop(v1::CRASHED, {}), 2);
  EXPECT_EQ(AttemptsUntilStop(v1::OUT_OF_MEMORY, {}), 3);
  EXPECT_EQ(AttemptsUntilStop(v1::LOST, {}), 20);
}

TEST(RetryPolicyTest, CrashesAndStallsCountTogetherButLossesDoNot) {
  v1::RetrySpec policy;
  policy.set_max_crashes(2);
  StageFailures counts;
  CountFailure(v1::LOST, policy, counts);
  EXPECT_TRUE(CountFailure(v1::STALLED, policy, counts).again);
  const RetryDecision decision = CountFailure(v1::CRASHED, policy, counts);
  EXPECT_FALSE(decision.again);
  EXPECT_EQ(decision.why_not, "crashed, stalled or timed out 2 times (retry.max_crashes = 2)");
}

TEST(RetryPolicyTest, CrashesWaitLongerEachTimeAndLossesDoNotWait) {
  v1::RetrySpec policy;
  policy.set_max_crashes(10);
  StageFailures counts;
  EXPECT_EQ(CountFailure(v1::CRASHED, policy, counts).wait, std::chrono::seconds(1));
  EXPECT_EQ(CountFailure(v1::CRASHED, policy, counts).wait, std::chrono::seconds(2));
  EXPECT_EQ(CountFailure(v1::LOST, policy, counts).wait, Duration::zero());
}

TEST(RetryPolicyTest, InvalidSpecIsNotRetriedWithItsReason) {
  StageFailures counts;
  EXPECT_EQ(CountFailure(v1::INVALID_SPEC, {}, counts).why_not, "can never run as it is");
}

}  // namespace
}  // namespace inlier
