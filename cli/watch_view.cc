#include "cli/watch_view.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/output.h"

namespace inlier {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(10);
constexpr double kLineAtLeast = 0.05;

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

// The first `width` code points of `text`.
std::string Cut(const std::string& text, int width) {
  int columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80 && columns++ == width) return text.substr(0, i);
  }
  return text;
}

std::string DescribeLabels(const v1::RunningAttempt& attempt) {
  std::vector<std::string> labels;
  for (const auto& [axis, label] : attempt.labels()) {
    if (!label.empty()) labels.push_back(axis == "seed" ? absl::StrCat("seed ", label) : label);
  }
  std::sort(labels.begin(), labels.end());
  return absl::StrJoin(labels, " ");
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

namespace {

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
  for (const std::string& notice : update.notices())
    absl::StrAppend(&out, "  ", Shown(notice, Layout::kCell), "\n");
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
  absl::StrAppend(&line, ", ", FormatDuration(now - first_));
  if (update.has_seconds_left() && status.state() == v1::ACTIVE) {
    absl::StrAppend(&line, ", about ", FormatDuration(FromSeconds(update.seconds_left())), " left");
  }
  return Shown(line, Layout::kCell) + "\n";
}

std::string WatchView::Frame(const v1::SweepUpdate& update, Timestamp now) {
  const v1::SweepStatus& status = update.status();
  std::vector<std::string> lines;
  std::string head = absl::StrFormat("%s  %s %3.0f%%  %s", status.name(),
                                     Bar(update.work_done(), std::clamp(width_ / 4, 10, 40)),
                                     std::floor(update.work_done() * 100), FormatDuration(now - first_));
  if (update.has_seconds_left() && status.state() == v1::ACTIVE) {
    absl::StrAppend(&head, ", about ", FormatDuration(FromSeconds(update.seconds_left())), " left");
  }
  lines.push_back(head);
  lines.push_back(absl::StrCat("  ", DescribeTrials(status.trials()), ", ", DescribeStages(status),
                               DescribeHold(status)));
  for (const v1::RunningAttempt& attempt : update.running()) {
    if (lines.size() >= 18) {
      lines.push_back(absl::StrCat("  … and ", update.running_size() - 16, " more"));
      break;
    }
    lines.push_back(absl::StrFormat("  %-8s %-34s %s", attempt.stage_id(), Cut(DescribeLabels(attempt), 34),
                                    DescribeProgress(attempt)));
  }
  std::string out;
  if (lines_shown_ > 0) absl::StrAppend(&out, "\x1b[", lines_shown_, "A\r\x1b[J");
  for (const std::string& notice : update.notices())
    absl::StrAppend(&out, "  ", Cut(Shown(notice, Layout::kCell), width_ - 2), "\n");
  for (const std::string& line : lines)
    absl::StrAppend(&out, Cut(Shown(line, Layout::kCell), width_ - 1), "\n");
  lines_shown_ = static_cast<int>(lines.size());
  return out;
}

}  // namespace inlier
