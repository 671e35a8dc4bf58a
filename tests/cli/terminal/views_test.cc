#include "cli/terminal/views.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/output.h"
#include "cli/terminal/attempt_rows.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/parse.h"

namespace inlier {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr WallTime kWall{1'764'000'000'000};

Timestamp At(int seconds) { return {std::chrono::seconds(seconds)}; }
ViewTime Time(int seconds) { return {At(seconds), "12:41:07", {kWall.unix_ms + seconds * 1000}}; }

v1::RunningAttempt Attempt(int trial, int step, double loss) {
  return Parse<v1::RunningAttempt>(absl::StrCat("stage_id: 'st-", trial, "' trial_id: 't-", trial,
                                                "' attempt: 1 progress { phase: 'train' step: ", step,
                                                " steps_total: 400 loss: ", loss, R"( rate: 1.42 }
      labels { key: 'model' value: 'BERT' } labels { key: 'method' value: 'clipped gamma' }
      labels { key: 'alpha' value: '' } labels { key: 'bits' value: 'float' }
      latest { name: 'max_inf_norm' value: 12.3456 })"));
}

v1::SweepUpdate Update(int running, int failures) {
  auto update = Parse<v1::SweepUpdate>(R"(
    status { sweep_id: 's-1' name: 'smoke' state: ACTIVE trials { succeeded: 4 pending: 12 }
             train_stages { total: 8 ended: 2 } }
    work_done: 0.27 seconds_left: 700)");
  update.mutable_status()->set_submitted_unix_ms(kWall.unix_ms);
  for (int i = 1; i <= running; ++i) *update.add_running() = Attempt(i, 82, 5.298);
  for (int i = 1; i <= failures; ++i)
    update.add_notices(absl::StrCat("FAILED, INVALID_SPEC: there is no corpus kvj [train t-", i,
                                    " (method=clipped, seed=1)]"));
  update.add_notices("attempt 1 LOST; tried again [train t-9 (seed=2)]");
  return update;
}

SweepModel Model(int running, int failures) {
  SweepModel model({"model", "method", "alpha", "bits"});
  for (int step = 0; step < 3; ++step) {
    v1::SweepUpdate update = Update(running, step == 0 ? failures : 0);
    if (step > 0) update.clear_notices();
    for (v1::RunningAttempt& attempt : *update.mutable_running()) {
      attempt.mutable_progress()->set_step(80 + static_cast<std::uint64_t>(step));
      attempt.mutable_progress()->set_loss(6.0 - step);
    }
    model.Take(update, At(step));
  }
  return model;
}

std::vector<std::string> TextOf(const Drawing& drawing) {
  std::vector<std::string> lines;
  for (const StyledLine& line : drawing) lines.push_back(line.Text());
  return lines;
}

int RowOf(const std::vector<std::string>& lines, const std::string& part) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (absl::StrContains(lines[i], part)) return static_cast<int>(i);
  }
  return -1;
}

TEST(SweepViewTest, AtEverySizeTheDrawingFillsTheScreenAndNothingIsWider) {
  const SweepModel model = Model(40, 28);
  for (const int columns : {120, 60, 40}) {
    for (const int rows : {8, 24, 60}) {
      const Drawing drawing = DrawSweep(model, ViewState(), Time(265), {columns, rows});
      EXPECT_EQ(static_cast<int>(drawing.size()), rows);
      for (const StyledLine& line : drawing) {
        EXPECT_LE(line.columns(), columns) << line.Text();
        EXPECT_EQ(line.columns(), Columns(line.Text()));
      }
    }
  }
}

TEST(SweepViewTest, AWideScreenHasTheCurveAndTheMeasurementsOfAnAttempt) {
  for (const int columns : {120, 160}) {
    SCOPED_TRACE(columns);
    const std::vector<std::string> lines =
        TextOf(DrawSweep(Model(2, 0), ViewState(), Time(265), {columns, 24}));
    EXPECT_THAT(lines[0], AllOf(StartsWith("smoke  s-1  active"), HasSubstr("12:41:07")));
    EXPECT_THAT(lines[1], AllOf(HasSubstr("27 %"), HasSubstr("4 min 25 s"), Not(HasSubstr("min 42 s left"))));
    EXPECT_THAT(lines[2], HasSubstr("4/16 trials, trained 2/8, evaluated 0/0"));
    const int row = RowOf(lines, "> t-1");
    ASSERT_GE(row, 0);
    EXPECT_THAT(lines[static_cast<std::size_t>(row)],
                AllOf(HasSubstr("train 82/400"), HasSubstr("█▅▁"), HasSubstr("4 "), HasSubstr("1.42/s"),
                      HasSubstr("max_inf_norm 12.35")));
    const std::string& labels = lines[static_cast<std::size_t>(row) + (columns == 120 ? 1 : 0)];
    EXPECT_THAT(labels, EndsWith(" model=BERT, method=clipped gamma, bits=float"));
    EXPECT_THAT(lines[static_cast<std::size_t>(row) + (columns == 120 ? 2 : 1)], StartsWith("  t-2"));
    EXPECT_THAT(lines.back(), StartsWith("q quit"));
  }
}

TEST(SweepViewTest, ANarrowScreenHasTheLabelsBelow) {
  for (const int columns : {60, 40}) {
    const std::vector<std::string> lines =
        TextOf(DrawSweep(Model(2, 0), ViewState(), Time(9), {columns, 24}));
    const int row = RowOf(lines, "> t-1");
    ASSERT_GE(row, 0);
    EXPECT_THAT(lines[static_cast<std::size_t>(row)], HasSubstr("train 82/400"));
    EXPECT_THAT(lines[static_cast<std::size_t>(row) + 1], StartsWith("    model=BERT, method=clipped gamma"));
  }
}

TEST(SweepViewTest, At40ColumnsTheTimeHasALineAndTheKeysAreShort) {
  const std::vector<std::string> lines = TextOf(DrawSweep(Model(1, 0), ViewState(), Time(265), {40, 24}));
  EXPECT_THAT(lines[1], EndsWith(" 27 %"));
  EXPECT_THAT(lines[2], AllOf(StartsWith("  4 min 25 s, "), EndsWith(" left")));
  EXPECT_EQ(lines.back(), "q quit  ? help");
}

TEST(SweepViewTest, FailuresComeBeforeAttemptsFoldedAndWithTheReasonFirst) {
  for (const int columns : {120, 60, 40}) {
    const Drawing drawing = DrawSweep(Model(2, 28), ViewState(), Time(9), {columns, 30});
    const std::vector<std::string> lines = TextOf(drawing);
    const int failure = RowOf(lines, "  FAILED, INVALID_SPEC: there is no");
    ASSERT_GE(failure, 0) << columns;
    EXPECT_EQ(drawing[static_cast<std::size_t>(failure)].spans().back().style, Style::kBad);
    EXPECT_LT(failure, RowOf(lines, "> t-1"));
    EXPECT_LT(RowOf(lines, "> t-1"), RowOf(lines, "attempt 1 LOST"));
    std::string all;
    for (const std::string& line : lines)
      absl::StrAppend(
          &all,
          line.substr(line.find_first_not_of(' ') == std::string::npos ? 0 : line.find_first_not_of(' ')),
          " ");
    EXPECT_THAT(all, HasSubstr("(x 28)"));
  }
}

TEST(SweepViewTest, TheChosenRowIsShownAndMarked) {
  ViewState state;
  state.selected = 33;
  const Drawing drawing = DrawSweep(Model(40, 0), state, Time(9), {120, 20});
  const std::vector<std::string> lines = TextOf(drawing);
  const int row = RowOf(lines, "> t-34");
  ASSERT_GE(row, 0);
  EXPECT_TRUE(drawing[static_cast<std::size_t>(row)].selected());
  EXPECT_THAT(lines, Each(Not(StartsWith("> t-1 "))));
}

TEST(SweepViewTest, TheLastLineIsTheQuestionThenTroubleThenTheResultThenTheKeys) {
  ViewState state;
  const SweepModel model = Model(1, 0);
  const auto last = [&] { return DrawSweep(model, state, Time(9), {120, 20}).back().Text(); };
  EXPECT_THAT(last(), StartsWith("q quit"));
  state.message = "s-1 is paused";
  EXPECT_EQ(last(), "s-1 is paused");
  state.trouble = "no answer";
  EXPECT_EQ(last(), "no answer");
  state.question = "Pause s-1? [y/N]";
  EXPECT_EQ(last(), "Pause s-1? [y/N]");
}

TEST(SweepViewTest, NamesAndMessagesDoNotControlTheTerminal) {
  v1::SweepUpdate update = Update(1, 0);
  update.mutable_status()->set_name("a\x1b]0;x\x07");
  update.mutable_running(0)->set_trial_id("t-\x1b[2J");
  update.mutable_running(0)->mutable_progress()->set_phase("p\nq");
  (*update.mutable_running(0)->mutable_labels())["model"] = "\xe2\x80\xae\x1b[2J";
  update.add_notices("n\x1b[2J");
  SweepModel model;
  model.Take(update, At(0));
  for (const StyledLine& line : DrawSweep(model, ViewState(), Time(1), {120, 24}))
    EXPECT_THAT(line.Text(),
                AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n")), Not(HasSubstr("\xe2\x80\xae"))));
}

TEST(TrialViewTest, ItsTextScrollsToItsEndAndNoFurther) {
  TrialPage page{.trial = "t-1", .labels = "model=BERT, seed=1", .loaded = true};
  page.explanation = {"trial t-1: RUNNING", "└─ attempt 1 runs on worker vm"};
  for (int i = 0; i < 50; ++i) page.log.push_back(absl::StrCat("line ", i));
  const SweepModel model = Model(1, 0);
  ViewState state;
  std::vector<std::string> lines =
      TextOf(DrawTrial(page, model, &model.latest().running(0), state, Time(9), {60, 20}));
  EXPECT_THAT(lines[0], StartsWith("t-1  of smoke"));
  EXPECT_THAT(lines, AllOf(Contains("model=BERT, seed=1"), Contains(StartsWith("attempt 1 on")),
                           Contains("why"), Contains(HasSubstr("max_inf_norm"))));
  state.first_line = 1000;
  lines = TextOf(DrawTrial(page, model, nullptr, state, Time(9), {60, 20}));
  EXPECT_EQ(lines[18], "line 49");
  EXPECT_LT(state.first_line, 60);
}

TEST(TrialViewTest, ThirtyMeasurementsLeaveRoomForTheReasonAndTheLog) {
  TrialPage page{.trial = "t-1", .labels = "seed=1", .loaded = true};
  page.explanation = {"trial t-1: RUNNING"};
  page.log = {"a warning"};
  v1::SweepUpdate update = Update(1, 0);
  v1::RunningAttempt& attempt = *update.mutable_running(0);
  attempt.clear_latest();
  for (int i = 0; i < 30; ++i) {
    v1::MeasurementPoint& point = *attempt.add_latest();
    point.set_name(absl::StrCat("measurement_", i));
    point.set_value(i + 0.5);
    point.set_step(i < 4 ? 100 : 50);
  }
  SweepModel model;
  model.Take(update, At(0));
  ViewState state;
  const std::vector<std::string> lines = TextOf(DrawTrial(page, model, &attempt, state, Time(9), {100, 30}));
  EXPECT_THAT(lines,
              AllOf(Contains("why"), Contains("measured at step 100"), Contains("measured at step 50"),
                    Contains(AllOf(HasSubstr("measurement_28"), HasSubstr("29.5"))), Contains("a warning")));
}

TEST(TopViewTest, SweepsWorkersAndTheChosenSweepsAttemptsAtEveryWidth) {
  const SweepModel first = Model(2, 3), second = Model(1, 0);
  TopModel top;
  top.address = "127.0.0.1:7420";
  top.sweeps = {&first, &second};
  top.more_sweeps = 2;
  Set(top.workers, R"(
    workers { name: 'vm' slots: 4 busy: 2 connected: true
              gpus { device: 'cuda:0' utilization: 0.87 memory_used_mib: 41984 memory_total_mib: 81920 } }
    workers { name: 'gone' })");
  for (const int columns : {120, 60, 40}) {
    const Drawing drawing = DrawTop(top, ViewState(), Time(9), {columns, 40});
    EXPECT_EQ(drawing.size(), 40u);
    for (const StyledLine& line : drawing) EXPECT_LE(line.columns(), columns) << line.Text();
    const std::vector<std::string> lines = TextOf(drawing);
    EXPECT_THAT(lines, Contains(StartsWith("4 active sweeps, 2 of 4 slots busy")));
    EXPECT_THAT(lines, Contains(StartsWith("> s-1")));
    EXPECT_THAT(lines, Contains("  and 2 more (inlier status)"));
    EXPECT_THAT(lines, Contains(HasSubstr("FAILED, INVALID_SPEC")));
    EXPECT_THAT(lines, Contains(AllOf(StartsWith("  vm"), HasSubstr("connected"), HasSubstr("2/4 busy"))));
    EXPECT_THAT(lines, Contains(AllOf(StartsWith("  gone"), HasSubstr("lost"))));
    if (columns == 120) {
      EXPECT_THAT(lines, Contains(HasSubstr("cuda:0 87 % 41.0/80 GiB")));
    }
  }
}

TEST(HelpViewTest, FillsTheScreen) { EXPECT_EQ(DrawHelp(true, {40, 12}).size(), 12u); }

}  // namespace
}  // namespace inlier
