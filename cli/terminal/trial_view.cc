#include <algorithm>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/output.h"
#include "cli/terminal/attempt_rows.h"
#include "cli/terminal/view_parts.h"
#include "cli/terminal/views.h"

namespace inlier {
namespace {

constexpr std::string_view kTrialKeys = "esc back  j k scroll  ? help";

void AddRunning(Drawing& body, const SweepModel& sweep, const v1::RunningAttempt& attempt, int columns) {
  const v1::Progress& progress = attempt.progress();
  StyledLine work(
      absl::StrCat("attempt ", attempt.attempt(), " on ", attempt.worker(), ": ", WorkText(attempt)));
  if (progress.has_loss()) work.Add(absl::StrFormat("  loss %.4g", progress.loss()));
  if (progress.rate() > 0) work.Add(absl::StrFormat("  %.3g/s", progress.rate()));
  body.push_back(work);
  if (const std::string spark = Sparkline(sweep.LossesOf(attempt), columns); Columns(spark) > 1)
    body.emplace_back(spark, Style::kBar);
}

// The latest value of each measurement, as many in a row as fit; a heading for each step that they are of.
void AddMeasurements(Drawing& body, const v1::RunningAttempt& attempt, int columns) {
  constexpr int kName = 32, kValue = 12;
  const int in_a_row = std::max(1, columns / (kName + kValue));
  std::map<std::uint64_t, std::vector<const v1::MeasurementPoint*>, std::greater<>> by_step;
  for (const v1::MeasurementPoint& point : attempt.latest()) by_step[point.step()].push_back(&point);
  for (const auto& [step, points] : by_step) {
    AddHeading(body, absl::StrCat("measured at step ", step));
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i % static_cast<std::size_t>(in_a_row) == 0) body.emplace_back();
      body.back()
          .AddCell(points[i]->name(), kName)
          .AddCell(absl::StrFormat("%.6g", points[i]->value()), kValue);
    }
  }
}

void AddSection(Drawing& body, const char* heading, const std::vector<std::string>& lines, int columns) {
  AddHeading(body, heading);
  for (const std::string& text : lines) {
    for (const std::string& line : WrapText(text, columns, 4)) body.emplace_back(line);
  }
}

}  // namespace

Drawing DrawTrial(const TrialPage& page, const SweepModel& sweep, const v1::RunningAttempt* attempt,
                  ViewState& state, const ViewTime& time, ScreenSize size) {
  const int columns = size.columns;
  StyledLine title(page.trial, Style::kStrong);
  title.Add(absl::StrCat("  of ", sweep.status().name()), Style::kDim);
  const StyledLine top = TitleLine(title, time, columns);
  Drawing body;
  if (!page.labels.empty()) {
    for (const std::string& line : WrapText(page.labels, columns, 4)) body.emplace_back(line);
  }
  if (attempt != nullptr) AddRunning(body, sweep, *attempt, columns);
  if (!page.loaded) body.emplace_back("asking the coordinator", Style::kDim);
  if (!page.explanation.empty()) AddSection(body, "why", page.explanation, columns);
  if (attempt != nullptr) AddMeasurements(body, *attempt, columns);
  if (page.loaded)
    AddSection(body, "log", page.log.empty() ? std::vector<std::string>{"no lines"} : page.log, columns);
  const int room = std::max(0, size.rows - 2);
  state.first_line = std::clamp(state.first_line, 0, std::max(0, static_cast<int>(body.size()) - room));
  body.erase(body.begin(), body.begin() + state.first_line);
  body.insert(body.begin(), top);
  return Fit(std::move(body), FooterLine(state, kTrialKeys, columns), size);
}

Drawing DrawHelp(bool top, ScreenSize size) {
  Drawing body = {StyledLine("keys", Style::kStrong)};
  const auto add = [&body](const char* keys, const char* effect) {
    body.push_back(StyledLine("  ").AddCell(keys, 14, Style::kStrong).Add(effect));
  };
  add("q", "leave; the sweep keeps running");
  add("j k, arrows", "choose a row, or scroll");
  add("page keys", "ten rows at once");
  add("enter", top ? "the sweep" : "the trial: its log, and why");
  add("esc", "back");
  if (!top) add("p", "pause the sweep, or resume it, after a question");
  add("ctrl-l", "draw everything again");
  add("?", "these keys");
  ViewState state;
  return Fit(std::move(body), FooterLine(state, "any key: back", size.columns), size);
}

}  // namespace inlier
