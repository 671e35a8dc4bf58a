#include "coordinator/tables/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/mean.h"
#include "base/status.h"
#include "coordinator/tables/statistics.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

bool IsComplete(const v1::TableCell& cell) {
  return cell.count() > 0 && cell.diverged() == 0 && cell.missing() == 0;
}

// As the column prints it.
double Rounded(double value, std::uint32_t decimals) {
  return std::strtod(absl::StrFormat("%.*f", static_cast<int>(std::min(decimals, 17u)), value).c_str(),
                     nullptr);
}

// The results of trials that agree in all labels but the baseline's. Results that trials share make one pair; trials
// with equal labels and different results make none.
std::vector<std::pair<double, double>> PairsOf(const std::vector<const TrialValues*>& trials,
                                               const std::vector<const TrialValues*>& baseline,
                                               const v1::TableSpec& spec,
                                               const MeasurementChoice& measurement) {
  using Results = std::map<std::map<std::string, std::string>, std::map<std::string, double>>;
  const auto results = [&](const std::vector<const TrialValues*>& from) {
    Results found;  // Labels -> stage -> value.
    for (const TrialValues* trial : from) {
      if (!HasResult(*trial, measurement)) continue;
      std::map<std::string, std::string> labels = trial->labels;
      for (const auto& [axis, label] : spec.baseline()) labels.erase(axis);
      found[labels][StageOf(*trial, measurement)] = trial->measurements[measurement.number];
    }
    return found;
  };
  const Results ours = results(trials);
  const Results theirs = results(baseline);
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::pair<double, double>> pairs;
  for (const auto& [labels, of_stage] : ours) {
    const auto other = theirs.find(labels);
    if (other == theirs.end() || of_stage.size() != 1 || other->second.size() != 1) continue;
    const auto& [stage, value] = *of_stage.begin();
    const auto& [other_stage, other_value] = *other->second.begin();
    if (seen.emplace(stage, other_stage).second) pairs.emplace_back(value, other_value);
  }
  return pairs;
}

void Compare(const std::vector<const TrialValues*>& trials, const std::vector<const TrialValues*>& baseline,
             const v1::TableSpec& spec, const MeasurementChoice& measurement, v1::TableCell& cell) {
  const std::vector<double> ours = ResultsOf(trials, measurement);
  const std::vector<double> theirs = ResultsOf(baseline, measurement);
  if (ours.empty() || theirs.empty()) return;
  cell.set_difference(Mean(ours) - Mean(theirs));
  if (!std::isfinite(cell.difference())) return;
  if (const auto interval = BootstrapDifference(ours, theirs, spec.confidence())) {
    cell.set_difference_low(interval->low);
    cell.set_difference_high(interval->high);
  }
  if (const auto p = WelchP(ours, theirs)) cell.set_welch_p(*p);
  const std::vector<std::pair<double, double>> pairs = PairsOf(trials, baseline, spec, measurement);
  cell.set_pairs(static_cast<std::uint32_t>(pairs.size()));
  if (const auto p = PairedP(pairs)) cell.set_paired_p(*p);
}

}  // namespace

std::optional<double> ShownNumber(const v1::TableCell& cell, v1::TableColumn::Statistic statistic) {
  if (cell.count() == 0) return std::nullopt;
  switch (statistic) {
    case v1::TableColumn::MEDIAN:
      return cell.median();
    case v1::TableColumn::BEST:
      return cell.best();
    default:
      return cell.mean();
  }
}

std::vector<RowGroup> GroupsOfRows(const v1::TableSpec& spec, const v1::Table& table) {
  std::map<std::vector<std::string>, RowGroup> groups;
  for (int i = 0; i < table.rows_size(); ++i) {
    std::vector<std::string> others;
    bool is_baseline = !spec.baseline().empty();
    for (int axis = 0; axis < spec.rows_size(); ++axis) {
      const auto wanted = spec.baseline().find(spec.rows(axis));
      if (wanted == spec.baseline().end()) {
        if (!spec.baseline().empty()) others.push_back(table.rows(i).labels(axis));
      } else if (!LabelMatches(table.rows(i).labels(axis), wanted->second)) {
        is_baseline = false;
      }
    }
    RowGroup& group = groups[others];
    if (is_baseline) group.baseline = i;
    group.rows.push_back(i);
  }
  std::vector<RowGroup> result;
  for (auto& [labels, group] : groups) result.push_back(std::move(group));
  return result;
}

void MarkBest(const v1::TableSpec& spec, const std::vector<RowGroup>& groups, v1::Table& table) {
  for (int column = 0; column < spec.columns_size(); ++column) {
    const MeasurementInfo* info = FindMeasurement(spec.columns(column).measurement());
    if (info == nullptr || info->better == Better::kNone) continue;
    const double sign = info->better == Better::kHigher ? -1 : 1;
    for (const RowGroup& group : groups) {
      std::vector<std::pair<double, int>> candidates;
      for (const int row : group.rows) {
        const v1::TableCell& cell = table.rows(row).cells(column);
        const auto shown = ShownNumber(cell, spec.columns(column).statistic());
        if (IsComplete(cell) && shown && std::isfinite(*shown))
          candidates.emplace_back(sign * Rounded(*shown, spec.columns(column).decimals()), row);
      }
      if (candidates.empty()) continue;
      const auto [best, worst] = std::minmax_element(candidates.begin(), candidates.end());
      if (best->first == worst->first) continue;
      for (const auto& [value, row] : candidates) {
        if (value == best->first) table.mutable_rows(row)->mutable_cells(column)->set_is_best(true);
      }
    }
  }
}

absl::Status CompareWithBaseline(const v1::TableSpec& spec, const std::vector<RowGroup>& groups,
                                 const std::vector<MeasurementChoice>& measurements, const CellTrials& trials,
                                 v1::Table& table) {
  for (const RowGroup& group : groups) {
    if (group.baseline < 0) continue;
    for (int column = 0; column < spec.columns_size(); ++column) {
      ASSIGN_OR_RETURN(const std::vector<const TrialValues*> baseline, trials(group.baseline, column));
      for (const int row : group.rows) {
        if (row == group.baseline) continue;
        ASSIGN_OR_RETURN(const std::vector<const TrialValues*> behind, trials(row, column));
        Compare(behind, baseline, spec, measurements[static_cast<std::size_t>(column)],
                *table.mutable_rows(row)->mutable_cells(column));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace inlier
