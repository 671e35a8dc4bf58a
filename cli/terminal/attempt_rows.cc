#include "cli/terminal/attempt_rows.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr int kOneLine = 140;  // From here on an attempt is one line.
constexpr int kWide = 100;     // From here on the first of two lines has the latest measurements.
constexpr int kMiddle = 55;    // From here on it has a sparkline.
constexpr int kTrial = 8;
constexpr int kNumber = 9;

int WorkColumns(int columns) { return columns >= kWide ? 22 : 20; }
int SparkColumns(int columns) {
  if (columns < kMiddle) return 0;
  return columns >= kWide ? std::clamp(columns / 8, 12, 32) : std::clamp(columns - 49, 6, 12);
}
int LatestColumns(int columns) { return columns >= kOneLine ? std::clamp((columns - 80) / 2, 24, 60) : 0; }

}  // namespace

std::string WorkText(const v1::RunningAttempt& attempt) {
  const v1::Progress& progress = attempt.progress();
  std::string text = progress.phase().empty() ? "starting" : progress.phase();
  if (progress.steps_total() > 0) absl::StrAppend(&text, " ", progress.step(), "/", progress.steps_total());
  return text;
}

std::string LatestText(const v1::RunningAttempt& attempt) {
  // The loss has a column of its own.
  static constexpr const char* kFirst[] = {"perplexity", "accuracy", "max_inf_norm", "avg_kurtosis",
                                           "gradient_norm"};
  std::string text;
  for (const char* name : kFirst) {
    for (const v1::MeasurementPoint& point : attempt.latest()) {
      if (point.name() == name)
        absl::StrAppend(&text, text.empty() ? "" : ", ", name, absl::StrFormat(" %.4g", point.value()));
    }
  }
  return text;
}

int LinesOfAttempt(int columns) { return columns >= kOneLine ? 1 : 2; }

Drawing AttemptHeading(int columns) {
  if (columns < kWide) return {};
  StyledLine line("  ");
  line.AddCell("trial", kTrial, Style::kDim).AddCell("work", WorkColumns(columns), Style::kDim);
  line.AddCell("loss", SparkColumns(columns) + 1 + kNumber, Style::kDim)
      .AddCell("rate", kNumber, Style::kDim);
  columns >= kOneLine
      ? line.AddCell("latest", LatestColumns(columns), Style::kDim).Add(" labels", Style::kDim)
      : line.Add("latest", Style::kDim);
  return {line.CutTo(columns)};
}

Drawing DrawAttempt(const SweepModel& sweep, const v1::RunningAttempt& attempt, int columns, bool selected) {
  const v1::Progress& progress = attempt.progress();
  const bool lost = progress.has_loss() && !std::isfinite(progress.loss());
  const std::string labels = LabelsText(attempt.labels(), sweep.axes());
  const bool wide = LinesOfAttempt(columns) == 1;
  StyledLine line(selected ? "> " : "  ");
  line.AddCell(attempt.trial_id(), kTrial - 1, Style::kStrong).Add(" ");
  const std::string number = attempt.attempt() > 1 ? absl::StrCat(" #", attempt.attempt()) : "";
  line.AddCell(WorkText(attempt) + number, WorkColumns(columns) - 1).Add(" ");
  if (const int spark = SparkColumns(columns); spark > 0)
    line.AddCell(Sparkline(sweep.LossesOf(attempt), spark), spark, Style::kBar).Add(" ");
  const std::string loss = progress.has_loss() ? absl::StrFormat("%.4g", progress.loss()) : "";
  const std::string rate = progress.rate() > 0 ? absl::StrFormat("%.3g/s", progress.rate()) : "";
  line.AddCell(loss, kNumber - 1, lost ? Style::kBad : Style::kPlain).Add(" ");
  if (columns >= kMiddle) line.AddCell(rate, kNumber - 1, Style::kDim).Add(" ");
  const std::string latest = LatestText(attempt);
  StyledLine below(absl::StrCat("    ", labels), Style::kDim);
  if (wide) {
    line.AddCell(latest, LatestColumns(columns)).Add(" ").Add(labels);
  } else if (columns >= kWide) {
    line.Add(latest);
  } else if (!latest.empty()) {
    below.Add(labels.empty() ? "" : "  ").Add(latest);
  }
  line.CutTo(columns);
  if (selected) line.Select();
  return wide ? Drawing{line} : Drawing{line, below.CutTo(columns)};
}

}  // namespace inlier
