#include "cli/watch_view.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/output.h"
#include "cli/sweeps/sweep_text.h"
#include "cli/terminal/attempt_rows.h"

namespace inlier {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(10);
constexpr double kLineAtLeast = 0.05;
constexpr size_t kNoticesInFrame = 4;  // Earlier ones stay above it.
constexpr size_t kWatchedLinesPerNotice = 3;
constexpr size_t kAttemptsShown = 16;

// Time left of a running sweep, or how a complete one ended.
std::string DescribeRest(const v1::SweepStatus& status, const TimeLeft& time_left, Timestamp now) {
  if (status.state() == v1::COMPLETE) return absl::StrCat(", ", DescribeEnd(status.trials()));
  if (status.state() != v1::ACTIVE || status.paused()) return "";
  const std::string text = time_left.Text(now);
  return text.empty() ? "" : absl::StrCat(", ", text);
}

// Reasons for idle slots, after the counts.
std::string DescribeHold(const v1::SweepStatus& status) {
  std::string text = status.paused() && status.state() == v1::ACTIVE ? ", PAUSED" : "";
  if (status.state() == v1::STOPPED_BY_TIME) text = ", STOPPED by limits.sweep_hours";
  if (status.state() == v1::STOPPED_BY_BUDGET) text = ", STOPPED by limits.gpu_hours";
  for (const std::string& warning : status.warnings()) absl::StrAppend(&text, "; ", warning);
  return text;
}

}  // namespace

std::string WatchView::Show(const v1::SweepUpdate& update, Timestamp now) {
  if (!started_) {
    started_ = true;
    first_ = now;
  }
  model_.Take(update, now);
  if (terminal_) return Frame(update, now);
  std::string out;
  Notices notices;
  for (const std::string& notice : update.notices()) notices.Add(notice);
  for (const std::string& text : notices.Texts()) absl::StrAppend(&out, "  ", text, "\n");
  const bool ended = update.status().state() != v1::ACTIVE;
  const bool due =
      last_done_ < 0 || now - last_line_ >= kLineEvery || update.work_done() - last_done_ >= kLineAtLeast;
  if (ended || due || !out.empty()) {
    absl::StrAppend(&out, Line(update, now));
    last_line_ = now;
    last_done_ = update.work_done();
  }
  if (ended && !summed_up_) absl::StrAppend(&out, FailuresByReason());
  return out;
}

std::string WatchView::FailuresByReason() {
  const std::vector<std::string> failures = model_.notices().Failures();
  if (failures.size() < 2) return "";
  summed_up_ = true;
  return absl::StrCat("failures, by their reason:\n  ", absl::StrJoin(failures, "\n  "), "\n");
}

std::string WatchView::Redraw(Timestamp now) {
  return terminal_ && model_.known() ? Frame(model_.latest(), now) : "";
}

std::string WatchView::Line(const v1::SweepUpdate& update, Timestamp now) {
  const v1::SweepStatus& status = update.status();
  const std::string line =
      absl::StrFormat("%s  %3.0f%%  %s, %s%s, %s%s", status.name(), std::floor(update.work_done() * 100),
                      DescribeTrials(status.trials()), DescribeStages(status), DescribeHold(status),
                      Took(status, now), DescribeRest(status, model_.time_left(), now));
  return Shown(line, Layout::kCell) + "\n";
}

// Of a sweep that has ended: its own time.
std::string WatchView::Took(const v1::SweepStatus& status, Timestamp now) const {
  return status.has_ended_unix_ms() ? RunTimeText(status, WallTime()) : FormatDuration(now - first_);
}

std::string WatchView::Erase() {
  int rows = 0;
  for (const int columns : columns_shown_) rows += std::max(1, (columns + width_ - 1) / std::max(1, width_));
  columns_shown_.clear();
  return rows == 0 ? "" : absl::StrCat("\x1b[", rows, "A\r\x1b[J");
}

std::string WatchView::Frame(const v1::SweepUpdate& update, Timestamp now) {
  const v1::SweepStatus& status = update.status();
  const int width = std::max(1, width_ - 1);  // The last column stays free: a full line could wrap.
  std::string out = Erase();
  const auto wrap = [width](const std::string& text) {
    return WrapText("  " + text, width, kWatchedLinesPerNotice);
  };
  for (const std::string& notice : update.notices()) notices_.Add(notice);
  for (const std::string& text : notices_.TakeAllBut(kNoticesInFrame)) {
    for (const std::string& line : wrap(text)) absl::StrAppend(&out, line, "\n");
  }
  std::vector<std::string> lines;
  for (const std::string& text : notices_.Texts()) {
    for (std::string& line : wrap(text)) lines.push_back(std::move(line));
  }
  const auto add = [&](const std::string& line) { lines.push_back(Cut(Shown(line, Layout::kCell), width)); };
  add(absl::StrFormat("%s  %s %3.0f%%  %s%s", status.name(),
                      BarText(update.work_done(), std::clamp(width_ / 4, 10, 40)),
                      std::floor(update.work_done() * 100), Took(status, now),
                      DescribeRest(status, model_.time_left(), now)));
  add(absl::StrCat("  ", DescribeTrials(status.trials()), ", ", DescribeStages(status),
                   DescribeHold(status)));
  size_t shown = 0;
  for (const v1::RunningAttempt& attempt : update.running()) {
    if (shown++ == kAttemptsShown) {
      add(absl::StrCat("  … and ", static_cast<size_t>(update.running_size()) - kAttemptsShown, " more"));
      break;
    }
    for (const StyledLine& line : DrawAttempt(model_, attempt, width, /*selected=*/false))
      lines.push_back(line.Text());
  }
  for (const std::string& line : lines) {
    absl::StrAppend(&out, line, "\n");
    columns_shown_.push_back(Columns(line));
  }
  return out;
}

}  // namespace inlier
