#include "cli/watch_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::SweepUpdate Update(double done, uint64_t succeeded, uint64_t pending) {
  v1::SweepUpdate update;
  update.set_work_done(done);
  update.mutable_status()->set_name("quick");
  update.mutable_status()->set_state(pending == 0 ? v1::COMPLETE : v1::ACTIVE);
  update.mutable_status()->mutable_trials()->set_succeeded(succeeded);
  update.mutable_status()->mutable_trials()->set_pending(pending);
  return update;
}

Timestamp At(int seconds) { return {std::chrono::seconds(seconds)}; }

TEST(WatchViewTest, PlainLinesComeOnlyAfterARelevantChange) {
  WatchView view(100, false);
  EXPECT_THAT(view.Show(Update(0.0, 0, 4), At(0)), HasSubstr("0/4 trials"));
  EXPECT_EQ(view.Show(Update(0.01, 0, 4), At(1)), "");
  EXPECT_THAT(view.Show(Update(0.02, 0, 4), At(11)), HasSubstr("quick    2%"));  // Ten seconds have passed.
  EXPECT_THAT(view.Show(Update(0.30, 1, 3), At(12)), HasSubstr("1/4 trials"));   // It has moved far.
}

TEST(WatchViewTest, NoticesAndTheEndAreAlwaysShown) {
  WatchView view(100, false);
  view.Show(Update(0.5, 2, 2), At(0));
  v1::SweepUpdate update = Update(0.5, 2, 2);
  update.add_notices("st-3 was lost with its worker");
  EXPECT_THAT(view.Show(update, At(1)), HasSubstr("st-3 was lost"));
  EXPECT_THAT(view.Show(Update(0.5, 4, 0), At(2)), HasSubstr("4/4 trials"));
}

TEST(WatchViewTest, PauseAndReasonsForIdleSlotsFollowTheCounts) {
  WatchView view(100, false);
  v1::SweepUpdate update = Update(0.5, 2, 2);
  update.mutable_status()->set_state(v1::ACTIVE);
  update.mutable_status()->set_paused(true);
  update.mutable_status()->add_warnings("no worker is connected");
  EXPECT_THAT(view.Show(update, At(0)), HasSubstr(", PAUSED; no worker is connected"));
}

TEST(WatchViewTest, ALimitThatStoppedTheSweepIsNamed) {
  for (const auto& [state, shown] : {std::pair(v1::STOPPED_BY_TIME, ", STOPPED by limits.sweep_hours"),
                                     std::pair(v1::STOPPED_BY_BUDGET, ", STOPPED by limits.gpu_hours")}) {
    for (const bool terminal : {false, true}) {
      WatchView view(200, terminal);
      v1::SweepUpdate update = Update(0.5, 2, 2);
      update.mutable_status()->set_state(state);
      EXPECT_THAT(view.Show(update, At(0)), HasSubstr(shown));
    }
  }
}

TEST(WatchViewTest, FailuresAndDivergencesAreNamedInTheCounts) {
  v1::TrialCounts counts;
  counts.set_succeeded(3);
  counts.set_failed(1);
  counts.set_diverged(2);
  EXPECT_EQ(DescribeTrials(counts), "6/6 trials, 2 diverged, 1 FAILED");
}

TEST(WatchViewTest, NamesAndMessagesDoNotControlTheTerminal) {
  for (const bool terminal : {false, true}) {
    WatchView view(100, terminal);
    v1::SweepUpdate update = Update(0.5, 2, 2);
    update.mutable_status()->set_name("a\x1b]0;x\x07");
    update.mutable_status()->add_warnings("w\x1b[2J\nforged line");
    update.add_notices("n\xc2\x9b" "2J\nforged line");
    v1::RunningAttempt* attempt = update.add_running();
    attempt->set_stage_id("st-\x1b" "c");
    (*attempt->mutable_labels())["path"] = "l\xe2\x80\xae\x1b[2J";
    attempt->mutable_progress()->set_phase("p\x1b[2J");
    const std::string text = view.Show(update, At(0));
    for (const char* control : {"\x1b", "\xc2\x9b", "\xe2\x80\xae", "\x07", "\nforged"})
      EXPECT_THAT(text, Not(HasSubstr(control))) << terminal;
    EXPECT_THAT(text, HasSubstr("a\\x1b]0;x\\x07"));
    EXPECT_THAT(text, HasSubstr("n\\x9b2J\\nforged line"));
  }
}

TEST(WatchViewTest, ATerminalIsRedrawnInPlace) {
  WatchView view(80, true);
  v1::SweepUpdate update = Update(0.25, 1, 3);
  v1::RunningAttempt* attempt = update.add_running();
  attempt->set_stage_id("st-2");
  attempt->mutable_progress()->set_phase("train");
  attempt->mutable_progress()->set_step(30);
  attempt->mutable_progress()->set_steps_total(60);
  attempt->mutable_progress()->set_loss(4.25);
  const std::string first = view.Show(update, At(0));
  EXPECT_THAT(first, HasSubstr("train 30/60  loss 4.250"));
  EXPECT_THAT(first, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(view.Show(update, At(1)), HasSubstr("\x1b[3A"));  // The three lines of the first frame.
}

}  // namespace
}  // namespace inlier
