#include "worker/attempt_hold.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

using std::chrono::seconds;
using Deed = AttemptHold::Deed;
using Fate = AttemptHold::Fate;
using State = LeaseGuard::State;

Timestamp At(int second) { return {seconds(second)}; }

TEST(AttemptHoldTest, AttemptsAreSuspendedBeforeTheLeaseIsOverAndStaySo) {
  AttemptHold hold(seconds(100));
  EXPECT_EQ(hold.OnLease(State::kHeld, At(1)), Deed::kNothing);
  EXPECT_EQ(hold.GivesUpAt(), std::nullopt);
  EXPECT_EQ(hold.OnLease(State::kEnding, At(14)), Deed::kSuspend);
  EXPECT_EQ(hold.OnLease(State::kExpired, At(15)), Deed::kSuspend);
}

TEST(AttemptHoldTest, TheLimitCountsFromTheFirstSuspensionAndAnewAfterAnAnswer) {
  AttemptHold hold(seconds(100));
  hold.OnLease(State::kEnding, At(14));
  hold.OnLease(State::kExpired, At(15));
  EXPECT_EQ(hold.GivesUpAt(), At(114));
  EXPECT_EQ(hold.OnLease(State::kHeld, At(60)), Deed::kNothing);
  EXPECT_EQ(hold.GivesUpAt(), std::nullopt);
  hold.OnLease(State::kExpired, At(200));
  EXPECT_EQ(hold.GivesUpAt(), At(300));
}

TEST(AttemptHoldTest, WithoutALimitAttemptsAreAskedToEndAndEndWithTheLease) {
  AttemptHold hold(seconds(0));
  EXPECT_EQ(hold.OnLease(State::kHeld, At(1)), Deed::kNothing);
  EXPECT_EQ(hold.OnLease(State::kEnding, At(14)), Deed::kAskToEnd);
  EXPECT_EQ(hold.OnLease(State::kExpired, At(15)), Deed::kKill);
  EXPECT_EQ(hold.GivesUpAt(), std::nullopt);
}

TEST(AttemptHoldTest, ASuspendedAttemptGoesOnOnlyWhenItIsDesiredAndWithinTheLease) {
  EXPECT_EQ(AttemptHold::OfSuspended(true, At(30), At(29)), Fate::kGoesOn);
  EXPECT_EQ(AttemptHold::OfSuspended(true, At(30), At(30)), Fate::kStays);
  EXPECT_EQ(AttemptHold::OfSuspended(true, std::nullopt, At(30)), Fate::kStays);
  EXPECT_EQ(AttemptHold::OfSuspended(false, At(30), At(29)), Fate::kKilled);
  EXPECT_EQ(AttemptHold::OfSuspended(false, At(30), At(30)), Fate::kKilled);
}

}  // namespace
}  // namespace inlier
