#include "cli/watch_view.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/output.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(10);
constexpr double kLineAtLeast = 0.05;
constexpr size_t kNoticesInFrame = 4;  // Earlier ones stay above it.
constexpr size_t kLinesPerNotice = 3;
constexpr size_t kAttemptsShown = 16;

std::string Bar(double share, int cells) {
  static const char* const kPartial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  share = std::clamp(share, 0.0, 1.0);
  const int eighths = static_cast<int>(share * cells * 8 + 1e-9);
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  if (eighths / 8 < cells) {
    bar += kPartial[eighths % 8];
    for (int i = eighths / 8 + (eighths % 8 > 0 ? 1 : 0); i < cells; ++i) bar += "·";
  }
  return bar;
}

// `text` in lines of at most `width` columns, the later ones indented; the last one of `lines_max` is cut.
std::vector<std::string> Wrap(std::string text, int width, size_t lines_max) {
  std::vector<std::string> lines;
  while (lines.size() + 1 < lines_max && Columns(text) > width) {
    std::string line = Cut(text, width);
    if (const size_t space = line.rfind(' '); space != std::string::npos && space > line.size() / 2)
      line.resize(space);
    if (line.empty()) break;
    text = absl::StrCat("    ", absl::StripLeadingAsciiWhitespace(text.substr(line.size())));
    lines.push_back(std::move(line));
  }
  lines.push_back(Cut(text, width));
  return lines;
}

std::string DescribeProgress(const v1::RunningAttempt& attempt) {
  const v1::Progress& progress = attempt.progress();
  std::string text = progress.phase().empty() ? "starting" : progress.phase();
  if (progress.steps_total() > 0) absl::StrAppend(&text, " ", progress.step(), "/", progress.steps_total());
  if (progress.has_loss()) absl::StrAppend(&text, absl::StrFormat("  loss %.3f", progress.loss()));
  if (progress.rate() > 0) absl::StrAppend(&text, absl::StrFormat("  %.1f/s", progress.rate()));
  if (attempt.attempt() > 1) absl::StrAppend(&text, "  attempt ", attempt.attempt());
  return text;
}

std::string DescribeStages(const v1::SweepStatus& status) {
  return absl::StrFormat("trained %d/%d, evaluated %d/%d", status.train_stages().ended(),
                         status.train_stages().total(), status.evaluate_stages().ended(),
                         status.evaluate_stages().total());
}

}  // namespace

uint64_t TotalTrials(const v1::TrialCounts& counts) {
  return counts.pending() + counts.running() + EndedTrials(counts);
}

uint64_t EndedTrials(const v1::TrialCounts& counts) {
  return counts.succeeded() + counts.diverged() + counts.failed() + counts.cancelled();
}

std::string DescribeTrials(const v1::TrialCounts& counts) {
  std::string text = absl::StrCat(EndedTrials(counts), "/", TotalTrials(counts), " trials");
  if (counts.diverged() > 0) absl::StrAppend(&text, ", ", counts.diverged(), " diverged");
  if (counts.failed() > 0) absl::StrAppend(&text, ", ", counts.failed(), " FAILED");
  if (counts.pruned() > 0) absl::StrAppend(&text, ", ", counts.pruned(), " pruned");
  if (counts.cancelled() > counts.pruned())
    absl::StrAppend(&text, ", ", counts.cancelled() - counts.pruned(), " cancelled");
  return text;
}

std::string DescribeEnd(const v1::TrialCounts& counts) {
  if (counts.failed() == 0) return "complete";
  return absl::StrCat("ended: ", counts.failed(), " of ", TotalTrials(counts), " failed");
}

namespace {

// Time left of a running sweep, or how a complete one ended.
std::string DescribeRest(const v1::SweepUpdate& update) {
  const v1::SweepStatus& status = update.status();
  if (status.state() == v1::COMPLETE) return absl::StrCat(", ", DescribeEnd(status.trials()));
  if (status.state() != v1::ACTIVE || !update.has_seconds_left()) return "";
  return absl::StrCat(", about ", FormatDuration(FromSeconds(update.seconds_left())), " left");
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
  return out;
}

std::string WatchView::Line(const v1::SweepUpdate& update, Timestamp now) {
  const v1::SweepStatus& status = update.status();
  std::string line =
      absl::StrFormat("%s  %3.0f%%  %s, %s%s", status.name(), std::floor(update.work_done() * 100),
                      DescribeTrials(status.trials()), DescribeStages(status), DescribeHold(status));
  absl::StrAppend(&line, ", ", FormatDuration(now - first_), DescribeRest(update));
  return Shown(line, Layout::kCell) + "\n";
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
  const auto wrap = [width](const std::string& text) { return Wrap("  " + text, width, kLinesPerNotice); };
  for (const std::string& notice : update.notices()) notices_.Add(notice);
  for (const std::string& text : notices_.TakeAllBut(kNoticesInFrame)) {
    for (const std::string& line : wrap(text)) absl::StrAppend(&out, line, "\n");
  }
  std::vector<std::string> lines;
  for (const std::string& text : notices_.Texts()) {
    for (std::string& line : wrap(text)) lines.push_back(std::move(line));
  }
  const auto add = [&](const std::string& line) { lines.push_back(Cut(Shown(line, Layout::kCell), width)); };
  add(absl::StrFormat(
      "%s  %s %3.0f%%  %s%s", status.name(), Bar(update.work_done(), std::clamp(width_ / 4, 10, 40)),
      std::floor(update.work_done() * 100), FormatDuration(now - first_), DescribeRest(update)));
  add(absl::StrCat("  ", DescribeTrials(status.trials()), ", ", DescribeStages(status),
                   DescribeHold(status)));
  size_t shown = 0;
  for (const v1::RunningAttempt& attempt : update.running()) {
    if (shown++ == kAttemptsShown) {
      add(absl::StrCat("  … and ", static_cast<size_t>(update.running_size()) - kAttemptsShown, " more"));
      break;
    }
    add(absl::StrFormat("  %-6s %-38s  %s", attempt.trial_id(), DescribeProgress(attempt),
                        LabelsText(attempt.labels(), axes_)));
  }
  for (const std::string& line : lines) {
    absl::StrAppend(&out, line, "\n");
    columns_shown_.push_back(Columns(line));
  }
  return out;
}

}  // namespace inlier
