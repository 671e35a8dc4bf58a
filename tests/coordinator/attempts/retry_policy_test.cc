#include "coordinator/attempts/retry_policy.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

// Attempts that fail with `failure` until the policy stops.
int AttemptsUntilStop(v1::FailureClass failure, const v1::RetrySpec& policy) {
  StageFailures counts;
  for (int attempts = 1; attempts < 1000; ++attempts) {
    CountFailure(failure, counts);
    if (!DecideRetry(failure, counts, policy).again) return attempts;
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
  CountFailure(v1::LOST, counts);
  CountFailure(v1::STALLED, counts);
  EXPECT_TRUE(DecideRetry(v1::STALLED, counts, policy).again);
  CountFailure(v1::CRASHED, counts);
  const RetryDecision decision = DecideRetry(v1::CRASHED, counts, policy);
  EXPECT_FALSE(decision.again);
  EXPECT_EQ(decision.why_not, "crashed, stalled or timed out 2 times (retry.max_crashes = 2)");
}

TEST(RetryPolicyTest, CrashesWaitLongerEachTimeAndLossesDoNotWait) {
  v1::RetrySpec policy;
  policy.set_max_crashes(10);
  StageFailures counts;
  CountFailure(v1::CRASHED, counts);
  EXPECT_EQ(DecideRetry(v1::CRASHED, counts, policy).wait, std::chrono::seconds(1));
  CountFailure(v1::CRASHED, counts);
  EXPECT_EQ(DecideRetry(v1::CRASHED, counts, policy).wait, std::chrono::seconds(2));
  CountFailure(v1::LOST, counts);
  EXPECT_EQ(DecideRetry(v1::LOST, counts, policy).wait, Duration::zero());
}

TEST(RetryPolicyTest, InvalidSpecIsNotRetriedWithItsReason) {
  StageFailures counts;
  CountFailure(v1::INVALID_SPEC, counts);
  EXPECT_EQ(DecideRetry(v1::INVALID_SPEC, counts, {}).why_not, "can never run as it is");
}

}  // namespace
}  // namespace inlier
