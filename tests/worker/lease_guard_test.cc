#include "worker/lease_guard.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

using namespace std::chrono_literals;
using State = LeaseGuard::State;

TEST(LeaseGuardTest, NothingIsFencedBeforeTheFirstAnswer) {
  LeaseGuard guard;
  guard.OnSent(1, Timestamp{0s});
  EXPECT_EQ(guard.StateAt(Timestamp{1h}), State::kIdle);
  EXPECT_EQ(guard.NextChange(Timestamp{1h}), std::nullopt);
}

TEST(LeaseGuardTest, TheLeaseCountsFromSendingNotFromTheAnswer) {
  LeaseGuard guard;
  Timestamp now{100s};
  guard.OnSent(1, now);
  now += 10s;  // The answer took that long.
  guard.OnAnswered(1, 20s);
  EXPECT_EQ(guard.end(), Timestamp{120s});
  EXPECT_EQ(guard.StateAt(Timestamp{118s}), State::kHeld);
  EXPECT_EQ(guard.NextChange(Timestamp{118s}), Timestamp{119s});
  EXPECT_EQ(guard.StateAt(Timestamp{119s}), State::kEnding);
  EXPECT_EQ(guard.NextChange(Timestamp{119s}), Timestamp{120s});
  EXPECT_EQ(guard.StateAt(Timestamp{120s}), State::kExpired);
  EXPECT_EQ(guard.NextChange(Timestamp{120s}), std::nullopt);
}

TEST(LeaseGuardTest, AnAnswerAfterTheEndHoldsAgain) {
  LeaseGuard guard;
  guard.OnSent(1, Timestamp{0s});
  guard.OnAnswered(1, 10s);
  EXPECT_EQ(guard.StateAt(Timestamp{31s}), State::kExpired);
  guard.OnSent(2, Timestamp{31s});
  guard.OnAnswered(2, 10s);
  EXPECT_EQ(guard.StateAt(Timestamp{32s}), State::kHeld);
}

TEST(LeaseGuardTest, ALateAnswerToAnOldSyncNeverShortensTheLease) {
  LeaseGuard guard;
  guard.OnSent(1, Timestamp{0s});
  guard.OnSent(2, Timestamp{5s});
  guard.OnAnswered(2, 10s);
  guard.OnAnswered(1, 10s);
  EXPECT_EQ(guard.end(), Timestamp{15s});
}

TEST(LeaseGuardTest, AnAnswerToASyncThatWasNeverSentIsNothing) {
  LeaseGuard guard;
  guard.OnAnswered(7, 10s);
  EXPECT_EQ(guard.end(), std::nullopt);
}

TEST(LeaseGuardTest, ASecondAnswerToTheSameSyncIsTaken) {
  LeaseGuard guard;
  guard.OnSent(1, Timestamp{0s});
  guard.OnAnswered(1, 10s);
  guard.OnAnswered(1, 12s);
  EXPECT_EQ(guard.end(), Timestamp{12s});
}

TEST(LeaseGuardTest, OnlyTheLatestUnansweredSyncsAreRemembered) {
  LeaseGuard guard;
  for (std::uint64_t id = 1; id <= 5000; ++id) guard.OnSent(id, Timestamp{std::chrono::seconds(id)});
  guard.OnAnswered(1, 10s);
  EXPECT_EQ(guard.end(), std::nullopt);
  guard.OnAnswered(5000, 10s);
  EXPECT_EQ(guard.end(), Timestamp{5010s});
}

}  // namespace
}  // namespace inlier
