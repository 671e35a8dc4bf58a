#include "worker/lease_guard.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

using namespace std::chrono_literals;
using State = LeaseGuard::State;

constexpr Duration kHold = 1h;

// Sync `id` is sent at `sent` and answered with a lease of `ttl`.
void Sync(LeaseGuard& guard, std::uint64_t id, Duration sent, Duration ttl) {
  guard.OnSent(id, Timestamp{sent});
  guard.OnAnswered(id, ttl);
}

TEST(LeaseGuardTest, NothingEndsBeforeTheFirstAnswer) {
  LeaseGuard guard(kHold);
  guard.OnSent(1, Timestamp{0s});
  EXPECT_EQ(guard.StateAt(Timestamp{1h}), State::kIdle);
  EXPECT_EQ(guard.NextChange(Timestamp{1h}), std::nullopt);
}

TEST(LeaseGuardTest, TheLeaseCountsFromSendingNotFromTheAnswer) {
  LeaseGuard guard(kHold);
  Timestamp now{100s};
  guard.OnSent(1, now);
  now += 10s;  // The answer took that long.
  guard.OnAnswered(1, 20s);
  EXPECT_EQ(guard.end(), Timestamp{120s});
  EXPECT_EQ(guard.StateAt(Timestamp{119s}), State::kHeld);
  EXPECT_EQ(guard.NextChange(Timestamp{119s}), Timestamp{120s});
  EXPECT_EQ(guard.StateAt(Timestamp{120s}), State::kAway);
}

TEST(LeaseGuardTest, AttemptsRunOnForTheHoldAndAreThenAskedToEnd) {
  LeaseGuard guard(100s);
  Sync(guard, 1, 0s, 20s);
  EXPECT_EQ(guard.StateAt(Timestamp{20s}), State::kAway);
  EXPECT_EQ(guard.NextChange(Timestamp{20s}), Timestamp{120s});
  EXPECT_EQ(guard.StateAt(Timestamp{119s}), State::kAway);
  EXPECT_EQ(guard.StateAt(Timestamp{120s}), State::kEnding);
  EXPECT_EQ(guard.NextChange(Timestamp{120s}), std::nullopt);
}

TEST(LeaseGuardTest, TheHoldCountsFromTheLatestLease) {
  LeaseGuard guard(100s);
  Sync(guard, 1, 0s, 20s);
  Sync(guard, 2, 90s, 20s);
  EXPECT_EQ(guard.StateAt(Timestamp{120s}), State::kAway);
  EXPECT_EQ(guard.NextChange(Timestamp{120s}), Timestamp{210s});
}

TEST(LeaseGuardTest, WithoutAHoldAttemptsAreAskedToEndWithinTheLeaseAndKilledAtItsEnd) {
  LeaseGuard guard(0s);
  Sync(guard, 1, 100s, 20s);
  EXPECT_EQ(guard.StateAt(Timestamp{118s}), State::kHeld);
  EXPECT_EQ(guard.NextChange(Timestamp{118s}), Timestamp{119s});
  EXPECT_EQ(guard.StateAt(Timestamp{119s}), State::kEnding);
  EXPECT_EQ(guard.NextChange(Timestamp{119s}), Timestamp{120s});
  EXPECT_EQ(guard.StateAt(Timestamp{120s}), State::kOver);
  EXPECT_EQ(guard.NextChange(Timestamp{120s}), std::nullopt);
}

TEST(LeaseGuardTest, AnAnswerAfterTheEndHoldsAgain) {
  LeaseGuard guard(kHold);
  Sync(guard, 1, 0s, 10s);
  EXPECT_EQ(guard.StateAt(Timestamp{31s}), State::kAway);
  Sync(guard, 2, 31s, 10s);
  EXPECT_EQ(guard.StateAt(Timestamp{32s}), State::kHeld);
}

TEST(LeaseGuardTest, ALateAnswerToAnOldSyncNeverShortensTheLease) {
  LeaseGuard guard(kHold);
  guard.OnSent(1, Timestamp{0s});
  Sync(guard, 2, 5s, 10s);
  guard.OnAnswered(1, 10s);
  EXPECT_EQ(guard.end(), Timestamp{15s});
}

TEST(LeaseGuardTest, AnAnswerToASyncThatWasNeverSentIsNothing) {
  LeaseGuard guard(kHold);
  guard.OnAnswered(7, 10s);
  EXPECT_EQ(guard.end(), std::nullopt);
}

TEST(LeaseGuardTest, ASecondAnswerToTheSameSyncIsTaken) {
  LeaseGuard guard(kHold);
  Sync(guard, 1, 0s, 10s);
  guard.OnAnswered(1, 12s);
  EXPECT_EQ(guard.end(), Timestamp{12s});
}

TEST(LeaseGuardTest, OnlyTheLatestUnansweredSyncsAreRemembered) {
  LeaseGuard guard(kHold);
  for (std::uint64_t id = 1; id <= 5000; ++id) guard.OnSent(id, Timestamp{std::chrono::seconds(id)});
  guard.OnAnswered(1, 10s);
  EXPECT_EQ(guard.end(), std::nullopt);
  guard.OnAnswered(5000, 10s);
  EXPECT_EQ(guard.end(), Timestamp{5010s});
}

}  // namespace
}  // namespace inlier
