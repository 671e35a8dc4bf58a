#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/sweeps/sweep_text.h"
#include "cli/terminal/attempt_rows.h"
#include "cli/terminal/view_parts.h"
#include "cli/terminal/views.h"

namespace inlier {
namespace {

constexpr std::string_view kTopKeys = "q quit  j k choose  enter sweep  ? help";
constexpr int kWideScreen = 100;

std::string GpuText(const v1::DeviceReading& gpu) {
  std::string text = gpu.device();
  if (gpu.has_utilization()) absl::StrAppend(&text, absl::StrFormat(" %.0f %%", gpu.utilization() * 100));
  if (gpu.has_memory_total_mib())
    absl::StrAppend(&text,
                    absl::StrFormat(" %.1f/%.0f GiB", static_cast<double>(gpu.memory_used_mib()) / 1024,
                                    static_cast<double>(gpu.memory_total_mib()) / 1024));
  if (gpu.has_temperature_celsius())
    absl::StrAppend(&text, absl::StrFormat(" %.0f °C", gpu.temperature_celsius()));
  if (gpu.has_power_watts()) absl::StrAppend(&text, absl::StrFormat(" %.0f W", gpu.power_watts()));
  return text;
}

Span WorkerState(const v1::WorkerStatus& worker) {
  if (!worker.connected()) {
    const std::string away = AwayWord(worker);
    return {away, away == "lost" ? Style::kBad : Style::kDim};
  }
  if (worker.held()) return {"drained", Style::kWarn};
  if (worker.draining()) return {"draining", Style::kWarn};
  if (worker.quarantined_size() > 0) return {"quarantine", Style::kWarn};
  return {"connected", Style::kGood};
}

Drawing WorkerLines(const v1::ListWorkersResponse& workers, int columns, int lines_max) {
  Drawing lines;
  for (const v1::WorkerStatus& worker : workers.workers()) {
    const int left = workers.workers_size() - static_cast<int>(lines.size());
    if (static_cast<int>(lines.size()) + 1 == lines_max && left > 1) {
      lines.emplace_back(absl::StrCat("  and ", left, " more (inlier workers)"), Style::kDim);
      break;
    }
    const Span state = WorkerState(worker);
    StyledLine line("  ");
    line.AddCell(worker.name(), std::clamp(columns / 5, 8, 24)).Add(" ").AddCell(state.text, 11, state.style);
    line.Add(absl::StrCat(worker.busy(), "/", worker.slots(), " busy"));
    for (const v1::DeviceReading& gpu : worker.gpus()) line.Add(absl::StrCat("  ", GpuText(gpu)), Style::kDim);
    lines.push_back(line.CutTo(columns));
  }
  return lines;
}

Drawing SweepLines(const SweepModel& sweep, const ViewTime& time, int columns, bool selected) {
  const v1::SweepStatus& status = sweep.status();
  const bool wide = columns >= kWideScreen;
  StyledLine line(selected ? "> " : "  ");
  line.AddCell(status.sweep_id(), 7, Style::kStrong).Add(" ");
  line.AddCell(status.name(), std::clamp(columns / 5, 8, 24)).Add(" ");
  AddBar(line, sweep.latest().work_done(), std::clamp(columns / 6, 6, 24));
  StyledLine rest;
  const Span state = StateSpan(status);
  if (state.style != Style::kPlain) rest.Add(absl::StrCat(state.text, "  "), state.style);
  rest.Add(DescribeTrials(status.trials()), status.trials().failed() > 0 ? Style::kBad : Style::kPlain);
  if (const std::string left = sweep.time_left().Text(time.now); !left.empty() && !status.paused())
    rest.Add(absl::StrCat(", ", left));
  StyledLine below(wide ? "  " : "    ");
  StyledLine& end = wide ? line.Add("  ") : below;
  for (const Span& span : rest.spans()) end.Add(span.text, span.style);
  line.CutTo(columns);
  if (selected) line.Select();
  return wide ? Drawing{line} : Drawing{line, below.CutTo(columns)};
}

StyledLine Summary(const TopModel& top) {
  std::uint64_t slots = 0, busy = 0, lost = 0;
  for (const v1::WorkerStatus& worker : top.workers.workers()) {
    if (!worker.connected()) {
      if (WorkerState(worker).style == Style::kBad) ++lost;
      continue;
    }
    slots += worker.slots();
    busy += worker.busy();
  }
  const std::size_t sweeps = top.sweeps.size() + top.more_sweeps;
  StyledLine line(absl::StrCat(sweeps, sweeps == 1 ? " active sweep, " : " active sweeps, ", busy, " of ",
                               slots, slots == 1 ? " slot busy" : " slots busy"));
  if (lost > 0) line.Add(absl::StrCat(", ", lost, lost == 1 ? " worker lost" : " workers lost"), Style::kBad);
  return line;
}

}  // namespace

Drawing DrawTop(const TopModel& top, const ViewState& state, const ViewTime& time, ScreenSize size) {
  const int columns = size.columns;
  StyledLine title("inlier top", Style::kStrong);
  title.Add(absl::StrCat("  ", top.address), Style::kDim);
  Drawing body = {TitleLine(title, time, columns), Summary(top)};
  const auto left = [&] { return size.rows - 1 - static_cast<int>(body.size()); };

  const auto sweeps = static_cast<int>(top.sweeps.size());
  const int selected = std::clamp(state.selected, 0, std::max(0, sweeps - 1));
  AddHeading(body, "sweeps");
  if (sweeps == 0) body.emplace_back("  none is active", Style::kDim);
  const int per_sweep = columns >= kWideScreen ? 1 : 2;
  const int sweeps_shown = std::clamp(left() / 3 / per_sweep, 1, std::max(1, sweeps));
  const int first = FirstShown(selected, sweeps, sweeps_shown);
  for (int i = first; i < std::min(sweeps, first + sweeps_shown); ++i)
    Append(body, SweepLines(*top.sweeps[static_cast<std::size_t>(i)], time, columns, i == selected));
  const std::size_t hidden = top.more_sweeps + static_cast<std::size_t>(std::max(0, sweeps - sweeps_shown));
  if (hidden > 0) body.emplace_back(absl::StrCat("  and ", hidden, " more (inlier status)"), Style::kDim);

  if (sweeps > 0) {
    const std::vector<std::string> failures =
        top.sweeps[static_cast<std::size_t>(selected)]->notices().Failures();
    if (!failures.empty() && left() > 6) {
      AddHeading(body, "failures of the chosen sweep");
      AddNotice(body, failures.back(), true, columns, 3);
      if (failures.size() > 1)
        body.emplace_back(absl::StrCat("  and ", failures.size() - 1, " other reasons (enter)"), Style::kDim);
    }
  }
  if (left() > 3) {
    AddHeading(body, "workers");
    if (top.workers.workers().empty()) body.emplace_back("  none has registered", Style::kWarn);
    Append(body, WorkerLines(top.workers, columns, std::max(1, left() / 2)));
  }
  if (sweeps > 0 && left() > 3) {
    const SweepModel& sweep = *top.sweeps[static_cast<std::size_t>(selected)];
    AddHeading(body, "running",
               absl::StrCat("  ", sweep.latest().running_size(), " of ", sweep.status().name()));
    Append(body, AttemptHeading(columns));
    for (const v1::RunningAttempt& attempt : sweep.latest().running()) {
      if (left() < LinesOfAttempt(columns)) break;
      Append(body, DrawAttempt(sweep, attempt, columns, false));
    }
  }
  return Fit(std::move(body), FooterLine(state, kTopKeys, columns), size);
}

}  // namespace inlier
