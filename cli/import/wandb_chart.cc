#include "cli/import/wandb_chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"

namespace inlier {
namespace {

constexpr std::string_view kBetween = " - ", kMin = "__MIN", kMax = "__MAX";
constexpr double kStepMax = 9007199254740992.0;  // 2^53.

}  // namespace

bool IsWandbChart(const CsvTable& table) {
  return std::ranges::any_of(table.headings, [&table](const std::string& heading) {
    return heading.find(kBetween) != std::string::npos &&
           table.Find(heading + std::string(kMin)) < table.headings.size() &&
           table.Find(heading + std::string(kMax)) < table.headings.size();
  });
}

absl::StatusOr<ForeignRuns> RunsOfWandbChart(const CsvTable& table, const std::string& file) {
  if (!absl::StrContains(absl::AsciiStrToLower(table.headings[0]), "step"))
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1: the x axis of this chart is ", Quoted(table.headings[0]),
                     ", and curves here are by step; set Step as the x axis in W&B and export it again"));
  ForeignRuns read;
  std::map<std::string, std::size_t> place;  // By name: in `read.runs`.
  for (std::size_t i = 1; i < table.headings.size(); ++i) {
    const std::string& heading = table.headings[i];
    const std::size_t cut = heading.rfind(kBetween);
    const std::string metric = cut == std::string::npos ? "" : heading.substr(cut + kBetween.size());
    if (metric.empty() || metric == "_step" || metric.ends_with(kMin) || metric.ends_with(kMax)) continue;
    const auto [at, fresh] = place.emplace(heading.substr(0, cut), read.runs.size());
    if (fresh) {
      read.runs.emplace_back();
      read.runs.back().name = at->first;
      read.runs.back().place = absl::StrCat(file, ":1: column ", Quoted(heading));
    }
    for (const CsvTable::Row& row : table.rows) {
      if (row.cells[i].empty()) continue;
      const std::optional<double> step = ForeignNumber(row.cells[0]), value = ForeignNumber(row.cells[i]);
      if (!step || *step != std::trunc(*step) || *step < 0 || *step > kStepMax)
        return absl::InvalidArgumentError(
            absl::StrCat(file, ":", row.line, ": ", Quoted(row.cells[0]), " is not a step, a whole number"));
      if (!value)
        return absl::InvalidArgumentError(absl::StrCat(file, ":", row.line, ": column ", Quoted(heading),
                                                       ": ", Quoted(row.cells[i]), " is not a number"));
      read.runs[at->second].curves[metric].emplace_back(static_cast<std::uint64_t>(*step), *value);
    }
  }
  read.remarks.push_back(
      "a chart of W&B: it has no settings, and does not say which runs finished; the table of runs, exported "
      "as CSV, does");
  return read;
}

}  // namespace inlier
