#include "cli/terminal/view_parts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "cli/output.h"
#include "cli/sweeps/sweep_text.h"

namespace inlier {

ViewTime PresentTime() {
  const WallTime wall = WallNow();
  return {MonotonicNow(), FormatClock(wall), wall};
}

Span StateSpan(const v1::SweepStatus& status) {
  switch (status.state()) {
    case v1::ACTIVE:
      return status.paused() ? Span{"PAUSED", Style::kWarn} : Span{"active", Style::kPlain};
    case v1::COMPLETE:
      return {DescribeEnd(status.trials()), status.trials().failed() > 0 ? Style::kBad : Style::kGood};
    case v1::SWEEP_CANCELLED:
      return {SweepStateWord(status.state()), Style::kWarn};
    case v1::STOPPED_BY_FAILURES:
      return {SweepStateWord(status.state()), Style::kBad};
    case v1::STOPPED_BY_TIME:
      return {"stopped by limits.sweep_hours", Style::kWarn};
    case v1::STOPPED_BY_BUDGET:
      return {"stopped by limits.gpu_hours", Style::kWarn};
  }
  return {"", Style::kPlain};
}

void AddBar(StyledLine& line, double share, int columns) {
  line.Add(BarText(share, columns), Style::kBar).Add(absl::StrFormat(" %3.0f %%", std::floor(share * 100)));
}

StyledLine TitleLine(StyledLine left, const ViewTime& time, int columns) {
  const int room = columns - Columns(time.clock) - 1;
  if (room < 20) return left.CutTo(columns);
  return left.CutTo(room).PadTo(room + 1).Add(time.clock, Style::kDim);
}

StyledLine FooterLine(const ViewState& state, std::string_view keys, int columns) {
  if (!state.question.empty()) return StyledLine(state.question, Style::kStrong).CutTo(columns);
  if (!state.trouble.empty()) return StyledLine(state.trouble, Style::kBad).CutTo(columns);
  if (!state.message.empty())
    return StyledLine(state.message, state.message_is_error ? Style::kBad : Style::kGood).CutTo(columns);
  return StyledLine(Columns(keys) <= columns ? keys : "q quit  ? help", Style::kDim).CutTo(columns);
}

void AddHeading(Drawing& drawing, std::string_view heading, std::string_view rest) {
  drawing.emplace_back();
  drawing.push_back(StyledLine(heading, Style::kStrong).Add(rest, Style::kDim));
}

void Append(Drawing& drawing, Drawing lines) {
  for (StyledLine& line : lines) drawing.push_back(std::move(line));
}

void AddNotice(Drawing& drawing, const std::string& text, bool failure, int columns, std::size_t lines_max) {
  for (const std::string& line : WrapText(text, columns - 2, lines_max))
    drawing.push_back(StyledLine("  ").Add(line, failure ? Style::kBad : Style::kDim));
}

Drawing Fit(Drawing body, StyledLine footer, ScreenSize size) {
  const auto rows = static_cast<std::size_t>(std::max(0, size.rows));
  if (rows == 0) return {};
  body.resize(rows - 1);
  for (StyledLine& line : body) line.CutTo(size.columns);
  body.push_back(std::move(footer));
  return body;
}

int FirstShown(int selected, int count, int shown) {
  return std::clamp(selected - shown / 2, 0, std::max(0, count - shown));
}

}  // namespace inlier
