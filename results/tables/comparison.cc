#include "results/tables/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/status.h"
#include "results/statistics/difference_tests.h"
#include "results/statistics/mean.h"
#include "results/tables/comparison_notes.h"
#include "results/tables/paired_results.h"
#include "spec/sweep/table_columns.h"

namespace inlier {
namespace {

bool IsComplete(const v1::TableCell& cell) {
  return cell.count() > 0 && cell.diverged() == 0 && cell.missing() == 0;
}

// The value as the column prints it.
double Rounded(double value, std::uint32_t decimals) {
  return std::strtod(absl::StrFormat("%.*f", static_cast<int>(std::min(decimals, 17u)), value).c_str(),
                     nullptr);
}

// The better direction; for a mean of columns the one they agree in.
Better BetterOf(const v1::TableSpec& spec, const MeasurementList& measurements,
                const v1::TableColumn& column) {
  if (column.mean_of_size() == 0) {
    const MeasurementInfo* info = measurements.Find(column.measurement());
    return info == nullptr ? Better::kNone : info->better;
  }
  std::set<Better> found;
  for (const std::vector<int>& part : MeanParts(spec, column)) {
    for (const int of_part : part) found.insert(BetterOf(spec, measurements, spec.columns(of_part)));
  }
  return found.size() == 1 ? *found.begin() : Better::kNone;
}

bool IsMean(const v1::TableColumn& column) {
  return column.mean_of_size() > 0 || column.mean_over_size() > 0;
}

void Compare(const Trials& trials, const Trials& baseline, const PairedAxes& axes,
             const MeasurementChoice& measurement, double confidence, v1::TableCell& cell) {
  std::vector<double> ours = SummaryOf(trials, measurement).means;
  std::vector<double> theirs = SummaryOf(baseline, measurement).means;
  if (ours.empty() || theirs.empty() || !std::isfinite(cell.difference())) return;
  if (const auto interval = BootstrapDifference(ours, theirs, confidence)) {
    cell.set_difference_low(interval->low);
    cell.set_difference_high(interval->high);
  }
  std::vector<std::pair<double, double>> pairs = PairResults(trials, baseline, axes, measurement);
  cell.set_pairs(static_cast<std::uint32_t>(pairs.size()));
  std::vector<double> differences;
  for (const auto& [our, other] : pairs) differences.push_back(our - other);
  if (!pairs.empty()) cell.set_paired_difference(Mean(differences));
  if (const auto interval = PairedInterval(pairs, confidence)) {
    cell.set_paired_low(interval->low);
    cell.set_paired_high(interval->high);
  }
  // Tests are made on losses: a collapsed training rules a mean of perplexities.
  if (measurement.is_perplexity) {
    for (double& value : ours) value = std::log(value);
    for (double& value : theirs) value = std::log(value);
    for (auto& [our, other] : pairs) std::tie(our, other) = std::pair(std::log(our), std::log(other));
  }
  if (const auto p = WelchP(ours, theirs)) cell.set_welch_p(*p);
  if (const auto p = PairedP(pairs)) cell.set_paired_p(*p);
}

}  // namespace

std::vector<RowGroup> GroupsOfRows(const v1::TableSpec& spec, const v1::Table& table) {
  std::map<std::vector<std::string>, RowGroup> groups;
  for (int i = 0; i < table.rows_size(); ++i) {
    std::vector<std::string> others;
    for (int axis = 0; axis < spec.rows_size() && !spec.baseline().empty(); ++axis) {
      if (!spec.baseline().contains(spec.rows(axis))) others.push_back(table.rows(i).labels(axis));
    }
    RowGroup& group = groups[others];
    if (IsBaseline(spec, table.rows(i))) group.baseline = i;
    group.rows.push_back(i);
  }
  std::vector<RowGroup> result;
  for (auto& [labels, group] : groups) result.push_back(std::move(group));
  return result;
}

void MarkBest(const v1::TableSpec& spec, const MeasurementList& measurements,
              const std::vector<RowGroup>& groups, v1::Table& table) {
  for (int column = 0; column < spec.columns_size(); ++column) {
    const Better better = BetterOf(spec, measurements, spec.columns(column));
    if (better == Better::kNone) continue;
    const double sign = better == Better::kHigher ? -1 : 1;
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

absl::Status CompareWithBaseline(const BaselineComparison& comparison, v1::Table& table) {
  const v1::TableSpec& spec = comparison.spec;
  for (const RowGroup& group : comparison.groups) {
    if (group.baseline < 0) continue;
    for (const int row : group.rows)
      table.mutable_rows(row)->set_baseline_row(static_cast<std::uint32_t>(group.baseline));
    for (int column = 0; column < spec.columns_size(); ++column) {
      const ColumnPlan& plan = comparison.columns[static_cast<std::size_t>(column)];
      PairedAxes axes = {.compared = {plan.best_over.begin(), plan.best_over.end()},
                         .evaluations = comparison.evaluation_axes};
      for (const auto& [axis, label] : spec.baseline()) axes.compared.insert(axis);
      ASSIGN_OR_RETURN(const Trials baseline, comparison.trials(group.baseline, column));
      for (const int row : group.rows) {
        if (row == group.baseline) continue;
        v1::TableCell& cell = *table.mutable_rows(row)->mutable_cells(column);
        const v1::TableCell& theirs = table.rows(group.baseline).cells(column);
        if (cell.count() == 0 || theirs.count() == 0) continue;
        cell.set_difference(cell.mean() - theirs.mean());
        if (IsMean(spec.columns(column))) continue;
        ASSIGN_OR_RETURN(const Trials behind, comparison.trials(row, column));
        Compare(behind, baseline, axes, plan.measurement, spec.confidence(), cell);
      }
    }
  }
  AddComparisonNotes(spec, table);
  return absl::OkStatus();
}

}  // namespace inlier
