#include "base/running_time.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace inlier {
namespace {

constexpr Duration kHour = std::chrono::hours(1);

// Whether this process counts so much. Between the two clocks' calls passes less than a minute.
bool HasStoodStill(Duration expected) {
  const Timestamp running = RunningNow();
  const Duration told = MonotonicNow() - running;
  return told >= expected && told < expected + std::chrono::minutes(1);
}

// Stops a child of this test and lets it go on with `continue_it`; whether it then counts `expected`.
template <typename Continue>
bool ChildCounts(Duration expected, Continue continue_it) {
  const pid_t child = ::fork();
  if (child == 0) {
    CountSuspensionsByParent();
    ::raise(SIGSTOP);
    ::_exit(HasStoodStill(expected) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  EXPECT_TRUE(WIFSTOPPED(status));
  continue_it(child);
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

sigval Milliseconds(Duration time) {
  sigval value = {};
  value.sival_ptr = reinterpret_cast<void*>(
      static_cast<std::intptr_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
  return value;
}

TEST(RunningTimeTest, WhatTheParentSaysOfASuspensionIsTakenOff) {
  EXPECT_TRUE(ChildCounts(kHour, [](pid_t child) { ::sigqueue(child, SIGCONT, Milliseconds(kHour)); }));
}

TEST(RunningTimeTest, ASuspensionLongerThanTheMillisecondsOfAnIntIsToldWhole) {
  const Duration month = std::chrono::hours(31 * 24);
  EXPECT_TRUE(ChildCounts(month, [&](pid_t child) { ::sigqueue(child, SIGCONT, Milliseconds(month)); }));
}

TEST(RunningTimeTest, AContinuationWithoutAValueTakesNothingOff) {
  EXPECT_TRUE(ChildCounts(Duration::zero(), [](pid_t child) { ::kill(child, SIGCONT); }));
}

TEST(RunningTimeTest, WhoIsNotTheParentTakesNothingOff) {
  EXPECT_TRUE(ChildCounts(Duration::zero(), [](pid_t child) {
    const pid_t stranger = ::fork();
    if (stranger == 0) {
      ::sigqueue(child, SIGCONT, Milliseconds(kHour));
      ::_exit(0);
    }
    ::waitpid(stranger, nullptr, 0);
  }));
}

TEST(RunningTimeTest, TimeNeverRunsAheadOfTheMonotonicClock) {
  AddSuspended(-kHour);
  EXPECT_TRUE(HasStoodStill(Duration::zero()));
}

}  // namespace
}  // namespace inlier
