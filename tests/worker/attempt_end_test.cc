#include "worker/attempt_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::Not;

AttemptEnd Killed(int signal) {
  AttemptEnd end;
  end.exit.signal = signal;
  return end;
}

TEST(AttemptEndTest, TheChildsOwnOutcomeWinsOverItsExitAndOverBeingStopped) {
  AttemptEnd end = Killed(SIGSEGV);
  end.stopped = StopKind::kDraining;
  end.reported.emplace().set_kind(v1::Outcome::SUCCEEDED);
  EXPECT_EQ(ClassifyEnd(end).kind(), v1::Outcome::SUCCEEDED);
}

TEST(AttemptEndTest, TheSignalThatEndsAJobIsNotACrash) {
  AttemptEnd end = Killed(SIGTERM);
  EXPECT_EQ(ClassifyEnd(end).failure(), v1::PREEMPTED);
  EXPECT_EQ(ClassifyEnd(Killed(SIGKILL)).failure(), v1::CRASHED);
  AttemptEnd waiting;
  waiting.exit.status = 75;
  EXPECT_EQ(ClassifyEnd(waiting).failure(), v1::PREEMPTED);
  end.last_output = {"std::bad_alloc"};
  EXPECT_EQ(ClassifyEnd(end).failure(), v1::OUT_OF_MEMORY);
}

TEST(AttemptEndTest, ACrashIsReportedWithItsSignalAndLastOutput) {
  AttemptEnd end = Killed(SIGSEGV);
  end.last_output = {"first", "last words"};
  const v1::Outcome outcome = ClassifyEnd(end);
  EXPECT_EQ(outcome.kind(), v1::Outcome::FAILED);
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_EQ(outcome.message(),
            "the trial was killed by signal 11 (Segmentation fault) without an outcome; its last output:\n  "
            "first\n  last words");
}

TEST(AttemptEndTest, AnExitWithoutAnOutcomeIsACrashWithAnyStatus) {
  AttemptEnd end;
  EXPECT_EQ(ClassifyEnd(end).failure(), v1::CRASHED);
  EXPECT_EQ(ClassifyEnd(end).message(),
            "the trial exited with status 0 without an outcome; it printed nothing");
}

TEST(AttemptEndTest, OnlyTheLastLinesAreQuoted) {
  AttemptEnd end;
  for (int i = 0; i < 20; ++i) end.last_output.push_back("line " + std::to_string(i));
  const std::string message = ClassifyEnd(end).message();
  EXPECT_THAT(message, HasSubstr("\n  line 12\n"));
  EXPECT_THAT(message, Not(HasSubstr("line 11\n")));
}

TEST(AttemptEndTest, AKillIsOutOfMemoryOnlyWhenTheKernelCountedOne) {
  AttemptEnd end = Killed(SIGKILL);
  EXPECT_EQ(ClassifyEnd(end).failure(), v1::CRASHED);
  end.out_of_memory_kill = true;
  EXPECT_EQ(ClassifyEnd(end).failure(), v1::OUT_OF_MEMORY);
  EXPECT_THAT(ClassifyEnd(end).message(), HasSubstr("fewer slots"));
  end.exit.signal = SIGSEGV;  // Another child's death is not this one's reason.
  EXPECT_EQ(ClassifyEnd(end).failure(), v1::CRASHED);
}

TEST(AttemptEndTest, TheSentencesOfLibrariesWithoutMemoryAreKnown) {
  for (const char* line : {"terminate called after throwing an instance of 'std::bad_alloc'",
                           "CUDA out of memory. Tried to allocate",
                           "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"}) {
    AttemptEnd end = Killed(SIGABRT);
    end.last_output = {line, "and more"};
    EXPECT_EQ(ClassifyEnd(end).failure(), v1::OUT_OF_MEMORY) << line;
    EXPECT_EQ(ClassifyEnd(end).gpu_out_of_memory(), line[0] == 'C') << line;
  }
}

TEST(AttemptEndTest, AStoppedChildIsPreemptedAndLostWhenTheLeaseWas) {
  AttemptEnd end = Killed(SIGKILL);
  end.stop_reason = "cancelled";
  end.out_of_memory_kill = true;
  end.stopped = StopKind::kNotDesired;
  EXPECT_EQ(ClassifyEnd(end).failure(), v1::PREEMPTED);
  EXPECT_EQ(ClassifyEnd(end).message(), "stopped by its worker: cancelled");
  end.stopped = StopKind::kLeaseLost;
  EXPECT_EQ(ClassifyEnd(end).failure(), v1::LOST);
}

TEST(AttemptEndTest, GarbageIsQuotedWithTheRemedy) {
  AttemptEnd end;
  end.exit.status = 3;
  end.garbage_lines = 4;
  end.first_garbage = "what?";
  EXPECT_EQ(ClassifyEnd(end).message(),
            "the trial exited with status 3 without an outcome, after 4 lines on its event descriptor that "
            "are no events, the first: "
            "\"what?\"; is trial_program inlier-trial of this version?; it printed nothing");
}

}  // namespace
}  // namespace inlier
