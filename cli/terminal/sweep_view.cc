#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/output.h"
#include "cli/sweeps/sweep_text.h"
#include "cli/terminal/attempt_rows.h"
#include "cli/terminal/view_parts.h"
#include "cli/terminal/views.h"

namespace inlier {
namespace {

constexpr std::string_view kSweepKeys = "q quit  p pause  j k choose  enter trial  ? help";
constexpr std::size_t kLinesPerNotice = 3;

Drawing Header(const SweepModel& sweep, const ViewTime& time, int columns) {
  const v1::SweepStatus& status = sweep.status();
  StyledLine title(status.name(), Style::kStrong);
  const Span state = StateSpan(status);
  title.Add(absl::StrCat("  ", status.sweep_id(), "  "), Style::kDim).Add(state.text, state.style);
  Drawing lines = {TitleLine(title, time, columns)};
  StyledLine bar;
  AddBar(bar, sweep.latest().work_done(), std::clamp(columns / 3, 10, 60));
  std::string took = RunTimeText(status, time.wall);
  if (status.state() == v1::ACTIVE && !status.paused()) {
    if (const std::string left = sweep.time_left().Text(time.now); !left.empty())
      absl::StrAppend(&took, took.empty() ? "" : ", ", left);
  }
  const bool fits = bar.columns() + 2 + Columns(took) <= columns;
  if (fits) bar.Add("  ").Add(took);
  lines.push_back(bar.CutTo(columns));
  if (!fits) lines.push_back(StyledLine("  ").Add(took).CutTo(columns));
  const std::string counts = absl::StrCat(DescribeTrials(status.trials()), ", ", DescribeStages(status));
  for (const std::string& line : WrapText(counts, columns, 2, "  ")) lines.emplace_back(line);
  for (const std::string& warning : status.warnings()) {
    for (const std::string& line : WrapText(warning, columns, 2)) lines.emplace_back(line, Style::kWarn);
  }
  return lines;
}

// Failures, with the most that the section may take; the others after them.
Drawing NoticeLines(const std::vector<std::string>& texts, bool failures, int columns, int lines_max) {
  Drawing lines;
  for (auto text = texts.rbegin(); text != texts.rend(); ++text) {  // The newest first.
    Drawing one;
    AddNotice(one, *text, failures, columns, kLinesPerNotice);
    if (static_cast<int>(lines.size() + one.size()) > lines_max) break;
    Append(lines, std::move(one));
  }
  return lines;
}

}  // namespace

Drawing DrawSweep(const SweepModel& sweep, const ViewState& state, const ViewTime& time, ScreenSize size) {
  const int columns = size.columns;
  if (!sweep.known())
    return Fit({StyledLine("waiting for the coordinator", Style::kDim)},
               FooterLine(state, kSweepKeys, columns), size);
  Drawing body = Header(sweep, time, columns);
  const int room = size.rows - 1 - static_cast<int>(body.size());
  const auto& running = sweep.latest().running();
  const int per_attempt = LinesOfAttempt(columns);

  const std::vector<std::string> failures = sweep.notices().Failures();
  if (!failures.empty() && room > 4) {
    const Drawing lines = NoticeLines(failures, true, columns, std::max(2, room / 3));
    AddHeading(body, "failures", failures.size() > 1 ? absl::StrCat("  ", failures.size(), " reasons") : "");
    Append(body, lines);
  }
  if (!running.empty() && room > 2) {
    AddHeading(body, "running", absl::StrCat("  ", running.size()));
    Append(body, AttemptHeading(columns));
    const int left = size.rows - 1 - static_cast<int>(body.size());
    const int shown = std::clamp(left / per_attempt, 1, running.size());
    const int selected = std::clamp(state.selected, 0, running.size() - 1);
    const int first = FirstShown(selected, running.size(), shown);
    for (int i = first; i < first + shown; ++i)
      Append(body, DrawAttempt(sweep, running[i], columns, i == selected));
  }
  const std::vector<std::string> others = sweep.notices().Others();
  const int left = size.rows - 1 - static_cast<int>(body.size());
  if (!others.empty() && left > 2) {
    AddHeading(body, "notices");
    Append(body, NoticeLines(others, false, columns, left - 2));
  }
  return Fit(std::move(body), FooterLine(state, kSweepKeys, columns), size);
}

}  // namespace inlier
