#include "cli/watch_view.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cli/sweeps/sweep_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/parse.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::SweepUpdate UpdateOf(double done, uint64_t succeeded, uint64_t pending) {
  v1::SweepUpdate update;
  update.set_work_done(done);
  update.mutable_status()->set_name("quick");
  update.mutable_status()->set_state(pending == 0 ? v1::COMPLETE : v1::ACTIVE);
  update.mutable_status()->mutable_trials()->set_succeeded(succeeded);
  update.mutable_status()->mutable_trials()->set_pending(pending);
  return update;
}

Timestamp After(int seconds) { return {std::chrono::seconds(seconds)}; }

TEST(WatchViewTest, PlainLinesComeOnlyAfterARelevantChange) {
  WatchView view(100, false);
  EXPECT_THAT(view.Show(UpdateOf(0.0, 0, 4), After(0)), HasSubstr("0/4 trials"));
  EXPECT_EQ(view.Show(UpdateOf(0.01, 0, 4), After(1)), "");
  EXPECT_THAT(view.Show(UpdateOf(0.02, 0, 4), After(11)),
              HasSubstr("quick    2%"));  // Ten seconds have passed.
  EXPECT_THAT(view.Show(UpdateOf(0.30, 1, 3), After(12)), HasSubstr("1/4 trials"));  // It has moved far.
}

TEST(WatchViewTest, NoticesAndTheEndAreAlwaysShown) {
  WatchView view(100, false);
  view.Show(UpdateOf(0.5, 2, 2), After(0));
  v1::SweepUpdate update = UpdateOf(0.5, 2, 2);
  update.add_notices("st-3 was lost with its worker");
  EXPECT_THAT(view.Show(update, After(1)), HasSubstr("st-3 was lost"));
  EXPECT_THAT(view.Show(UpdateOf(0.5, 4, 0), After(2)), HasSubstr("4/4 trials"));
}

TEST(WatchViewTest, PauseAndReasonsForIdleSlotsFollowTheCounts) {
  WatchView view(100, false);
  v1::SweepUpdate update = UpdateOf(0.5, 2, 2);
  update.mutable_status()->set_state(v1::ACTIVE);
  update.mutable_status()->set_paused(true);
  update.mutable_status()->add_warnings("no worker is connected");
  EXPECT_THAT(view.Show(update, After(0)), HasSubstr(", PAUSED; no worker is connected"));
}

TEST(WatchViewTest, ALimitThatStoppedTheSweepIsNamed) {
  for (const auto& [state, shown] : {std::pair(v1::STOPPED_BY_TIME, ", STOPPED by limits.sweep_hours"),
                                     std::pair(v1::STOPPED_BY_BUDGET, ", STOPPED by limits.gpu_hours")}) {
    for (const bool terminal : {false, true}) {
      WatchView view(200, terminal);
      v1::SweepUpdate update = UpdateOf(0.5, 2, 2);
      update.mutable_status()->set_state(state);
      EXPECT_THAT(view.Show(update, After(0)), HasSubstr(shown));
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

TEST(WatchViewTest, ASweepThatFailedIsNotCalledComplete) {
  v1::SweepUpdate update = UpdateOf(1, 0, 0);
  update.mutable_status()->mutable_trials()->set_failed(56);
  update.mutable_status()->mutable_train_stages()->set_total(28);
  update.mutable_status()->mutable_evaluate_stages()->set_total(56);
  for (const bool terminal : {false, true}) {
    const std::string text = WatchView(200, terminal).Show(update, After(0));
    EXPECT_THAT(text, HasSubstr("failed: all 56 trials"));
    EXPECT_THAT(text, HasSubstr("trained 0/28, evaluated 0/56"));
    EXPECT_THAT(text, Not(HasSubstr("complete")));
  }
  EXPECT_THAT(WatchView(200, false).Show(UpdateOf(1, 4, 0), After(0)), HasSubstr(", complete\n"));
}

v1::SweepUpdate WithFailures(int count) {
  v1::SweepUpdate update = UpdateOf(0.5, 2, 2);
  for (int i = 1; i <= count; ++i)
    update.add_notices("FAILED, INVALID_SPEC: there is no corpus kvj [train t-" + std::to_string(i) +
                       " (method=clipped, seed=1)]");
  return update;
}

TEST(WatchViewTest, EqualReasonsAreOneLineThatBeginsWithTheReason) {
  EXPECT_THAT(
      WatchView(100, false).Show(WithFailures(28), After(0)),
      HasSubstr("  FAILED, INVALID_SPEC: there is no corpus kvj (x 28) [last: train t-28 (method=clipped, "
                "seed=1)]\n"));
  WatchView view(200, true);
  EXPECT_THAT(view.Show(WithFailures(1), After(0)),
              HasSubstr("no corpus kvj [train t-1 (method=clipped, seed=1)]\n"));
  EXPECT_THAT(view.Show(WithFailures(2), After(1)), HasSubstr("no corpus kvj (x 3) [last: train t-2"));
  for (const char* other : {"a", "b", "c", "d"}) {
    v1::SweepUpdate update = UpdateOf(0.5, 2, 2);
    update.add_notices(other);
    const std::string frame = view.Show(update, After(2));
    EXPECT_THAT(frame, HasSubstr("(x 3)")) << other;  // With the last it leaves the frame, to stay above.
  }
  EXPECT_THAT(view.Show(UpdateOf(0.5, 2, 2), After(3)), Not(HasSubstr("(x 3)")));
}

TEST(WatchViewTest, PlainLinesEndWithTheFailuresByReason) {
  WatchView view(100, false);
  view.Show(WithFailures(1), After(0));
  view.Show(WithFailures(1), After(1));
  v1::SweepUpdate other = UpdateOf(0.5, 2, 2);
  other.add_notices("FAILED, CRASHED: signal 9 [train t-9 (seed=2)]");
  view.Show(other, After(2));
  EXPECT_THAT(
      view.Show(UpdateOf(1, 4, 0), After(3)),
      HasSubstr("failures, by their reason:\n  FAILED, INVALID_SPEC: there is no corpus kvj (x 2) [last: "
                "train t-1 (method=clipped, seed=1)]\n  FAILED, CRASHED: signal 9 [train t-9 (seed=2)]\n"));
}

std::vector<std::string> FrameLines(const std::string& frame) {
  std::vector<std::string> lines = absl::StrSplit(frame, '\n');
  if (absl::StartsWith(lines[0], "\x1b[")) lines[0] = lines[0].substr(lines[0].find('J') + 1);
  lines.pop_back();
  return lines;
}

TEST(WatchViewTest, ALongReasonIsWrappedAndNothingIsWiderThanTheTerminal) {
  for (const int width : {1, 2, 21, 60, 120}) {
    WatchView view(width, true, {"method"});
    v1::SweepUpdate update = WithFailures(2);
    v1::RunningAttempt* attempt = update.add_running();
    attempt->set_trial_id("t-3");
    (*attempt->mutable_labels())["method"] = std::string(300, 'm');
    for (const std::string& line : FrameLines(view.Show(update, After(0))))
      EXPECT_LE(line.size(), 3u * width);
  }
  WatchView view(40, true);
  EXPECT_THAT(FrameLines(view.Show(WithFailures(1), After(0))),
              ::testing::Contains("    corpus kvj [train t-1"));
}

TEST(WatchViewTest, ANarrowerTerminalHasWrappedTheLastFrame) {
  WatchView view(100, true);
  v1::SweepUpdate update = UpdateOf(0.5, 2, 2);
  update.mutable_status()->add_warnings(std::string(200, 'w'));  // A line of 99 columns, under a short one.
  view.Show(update, After(0));
  view.Resize(40);
  EXPECT_THAT(view.Show(update, After(1)), StartsWith("\x1b[5A"));  // 2 rows and 3 rows.
  EXPECT_THAT(view.Show(update, After(2)), StartsWith("\x1b[2A"));
}

TEST(WatchViewTest, LabelsHaveTheirAxisAndTheOrderOfTheFile) {
  WatchView view(200, true, {"model", "method", "bits"});
  v1::SweepUpdate update = UpdateOf(0.25, 1, 3);
  Set(update, R"(running { trial_id: 't-7' labels { key: 'bits' value: '8' }
    labels { key: 'method' value: 'clipped gamma' } labels { key: 'gamma' value: '' }
    labels { key: 'model' value: 'BERT' } })");
  const std::string frame = view.Show(update, After(0));
  EXPECT_THAT(frame, HasSubstr("  t-7 "));
  EXPECT_THAT(frame, HasSubstr("model=BERT, method=clipped gamma, bits=8\n"));
}

TEST(WatchViewTest, NamesAndMessagesDoNotControlTheTerminal) {
  for (const bool terminal : {false, true}) {
    WatchView view(100, terminal);
    v1::SweepUpdate update = UpdateOf(0.5, 2, 2);
    update.mutable_status()->set_name("a\x1b]0;x\x07");
    update.mutable_status()->add_warnings("w\x1b[2J\nforged line");
    update.add_notices(
        "n\xc2\x9b"
        "2J\nforged line");
    v1::RunningAttempt* attempt = update.add_running();
    attempt->set_trial_id(
        "t-\x1b"
        "c");
    (*attempt->mutable_labels())["path"] = "l\xe2\x80\xae\x1b[2J";
    attempt->mutable_progress()->set_phase("p\x1b[2J");
    const std::string text = view.Show(update, After(0));
    for (const char* control : {"\x1b", "\xc2\x9b", "\xe2\x80\xae", "\x07", "\nforged"})
      EXPECT_THAT(text, Not(HasSubstr(control))) << terminal;
    EXPECT_THAT(text, HasSubstr("a\\x1b]0;x\\x07"));
    EXPECT_THAT(text, HasSubstr("n\\x9b2J\\nforged line"));
  }
}

TEST(WatchViewTest, ATerminalIsRedrawnInPlace) {
  WatchView view(80, true);
  v1::SweepUpdate update = UpdateOf(0.25, 1, 3);
  Set(update, "running { trial_id: 't-2' progress { phase: 'train' step: 30 steps_total: 60 loss: 4.25 } }");
  const std::string first = view.Show(update, After(0));
  EXPECT_THAT(first, HasSubstr("train 30/60"));
  EXPECT_THAT(first, HasSubstr(" 4.25 "));
  EXPECT_THAT(first, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(view.Show(update, After(1)), HasSubstr("\x1b[4A"));  // The four lines of the first frame.
  EXPECT_THAT(view.Redraw(After(2)), HasSubstr("\x1b[4A"));
  EXPECT_EQ(WatchView(80, false).Redraw(After(2)), "");
}

TEST(WatchViewTest, TheTimeLeftDoesNotFollowEachEstimate) {
  for (const bool terminal : {false, true}) {
    WatchView view(120, terminal);
    v1::SweepUpdate update = UpdateOf(0.25, 1, 3);
    update.set_seconds_left(213);
    EXPECT_THAT(view.Show(update, After(0)), HasSubstr(", about 4 min left"));
    update.set_seconds_left(543);
    update.set_work_done(0.35);
    EXPECT_THAT(view.Show(update, After(3)), HasSubstr(", about 4 min left"));
  }
}

TEST(WatchViewTest, AnEndedSweepHasItsOwnTime) {
  WatchView view(100, false);
  v1::SweepUpdate update = UpdateOf(1, 4, 0);
  update.mutable_status()->set_submitted_unix_ms(1000);
  update.mutable_status()->set_ended_unix_ms(1000 + 95 * 1000);
  const std::string line = view.Show(update, After(0));
  EXPECT_THAT(line, HasSubstr(FormatDuration(std::chrono::seconds(95))));
  EXPECT_THAT(line, Not(HasSubstr("0.0 s")));
}

}  // namespace
}  // namespace inlier
