#include "results/tables/cell_maker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "results/statistics/difference_tests.h"
#include "results/statistics/mean.h"

namespace inlier {
namespace {

// Adds the counts of missing values.
void AddCounts(const v1::TableCell& from, v1::TableCell* to) {
  to->set_missing(to->missing() + from.missing());
  if (from.failed() > 0) to->set_failed(to->failed() + from.failed());
  if (from.cancelled() > 0) to->set_cancelled(to->cancelled() + from.cancelled());
  if (from.unmeasured() > 0) to->set_unmeasured(to->unmeasured() + from.unmeasured());
}

MadeCell BestPointCell(const Trials& trials, const ColumnPlan& column, const TableNames& names) {
  const auto points = GroupTrials(trials, column.best_over, names);
  const double sign = column.best_by.better == Better::kHigher ? -1 : 1;
  const v1::TableColumn::Statistic by =
      column.statistic == v1::TableColumn::MEDIAN ? v1::TableColumn::MEDIAN : v1::TableColumn::MEAN;
  const TrialGroup* best = nullptr;
  std::pair<bool, double> best_rank;
  for (const auto& point : points) {
    const v1::TableCell cell = SummariseCell(point.items, column.best_by);
    const std::optional<double> number = ShownNumber(cell, by);
    if (!number) continue;
    const std::pair rank(cell.diverged() > 0, sign * *number);
    if (best != nullptr && !(rank < best_rank)) continue;
    best = &point;
    best_rank = rank;
  }
  if (best == nullptr) return {SummariseCell(trials, column.best_by), trials};  // Nothing to choose by: why.
  MadeCell made = {SummariseCell(best->items, column.measurement), best->items};
  made.cell.set_chosen(JoinLabels(best->labels, ", "));
  for (const auto& point : points) {
    if (&point != best) AddCounts(SummariseCell(point.items, column.measurement), &made.cell);
  }
  return made;
}

}  // namespace

std::vector<TrialGroup> GroupTrials(const Trials& trials, const std::vector<std::string>& names,
                                    const TableNames& table_names) {
  std::vector<const std::vector<std::string>*> orders;
  for (const std::string& name : names) orders.push_back(table_names.LabelsOf(name));
  return GroupByLabels(trials, orders,
                       [&](const TrialValues* trial, std::size_t i) { return LabelOf(*trial, names[i]); });
}

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

v1::TableCell SummariseCell(const Trials& trials, const MeasurementChoice& measurement) {
  v1::TableCell cell;
  const NestedSummary summary = SummaryOf(trials, measurement);
  std::set<std::string> seen;  // Stages.
  const auto is_first = [&](const TrialValues& trial) {
    const std::string& stage = StageOf(trial, measurement);
    return stage.empty() || seen.insert(stage).second;
  };
  // A stage with a result is not missing for another trial of it, such as a cancelled one.
  for (const TrialValues* trial : trials) {
    if (HasResult(*trial, measurement)) is_first(*trial);
  }
  std::uint32_t diverged = 0;
  std::uint32_t missing = 0;
  bool not_run = summary.values.empty();
  for (const TrialValues* trial : trials) {
    if (trial->state == v1::DIVERGED && is_first(*trial)) ++diverged;
    if (trial->state != v1::PENDING || trial->started) not_run = false;
  }
  for (const TrialValues* trial : trials) {
    if (HasResult(*trial, measurement) || trial->state == v1::DIVERGED || !is_first(*trial)) continue;
    ++missing;
    if (trial->state == v1::FAILED) cell.set_failed(cell.failed() + 1);
    if (trial->state == v1::CANCELLED) cell.set_cancelled(cell.cancelled() + 1);
    if (trial->state == v1::SUCCEEDED) cell.set_unmeasured(cell.unmeasured() + 1);
  }
  cell.set_count(static_cast<std::uint32_t>(summary.values.size()));
  cell.set_diverged(diverged);
  cell.set_missing(missing);
  if (not_run) cell.set_not_run(true);
  if (summary.values.empty()) return cell;
  const std::vector<double>& means = summary.means;
  cell.mutable_values()->Add(summary.values.begin(), summary.values.end());
  cell.mutable_training_means()->Add(means.begin(), means.end());
  cell.set_trainings(static_cast<std::uint32_t>(means.size()));
  cell.set_evaluations(static_cast<std::uint32_t>(summary.evaluations));
  cell.set_mean(Mean(means));
  cell.set_median(Median(means));
  if (measurement.better == Better::kLower) cell.set_best(*std::ranges::min_element(means));
  if (measurement.better == Better::kHigher) cell.set_best(*std::ranges::max_element(means));
  if (summary.std) cell.set_std(*summary.std);
  if (summary.within_std) cell.set_within_std(*summary.within_std);
  if (summary.pooled_std) cell.set_pooled_std(*summary.pooled_std);
  return cell;
}

MadeCell MakeCell(const Trials& trials, const ColumnPlan& column, const TableNames& names) {
  if (column.mean_over.empty()) {
    if (column.best_over.empty()) return {SummariseCell(trials, column.measurement), trials};
    return BestPointCell(trials, column, names);
  }
  ColumnPlan of_label = column;
  of_label.mean_over.clear();
  MadeCell made;
  std::vector<MadeCell> labels;
  for (const auto& group : GroupTrials(trials, column.mean_over, names)) {
    labels.push_back(MakeCell(group.items, of_label, names));
    made.trials.insert(made.trials.end(), labels.back().trials.begin(), labels.back().trials.end());
  }
  std::vector<std::vector<ShownCell>> parts;
  for (const MadeCell& label : labels) parts.push_back({{&label.cell, column.statistic}});
  made.cell = MeanOfCells(parts);
  // The column's statistic is what its cells show.
  if (made.cell.count() > 0 && column.statistic == v1::TableColumn::MEDIAN)
    made.cell.set_median(made.cell.mean());
  if (made.cell.count() > 0 && column.statistic == v1::TableColumn::BEST)
    made.cell.set_best(made.cell.mean());
  return made;
}

v1::TableCell MeanOfCells(const std::vector<std::vector<ShownCell>>& parts) {
  v1::TableCell cell;
  std::vector<double> numbers;
  bool complete = !parts.empty();
  bool not_run = true;
  std::uint32_t results = 0, diverged = 0, trainings = 0, evaluations = 0;
  cell.set_missing(0);
  for (const std::vector<ShownCell>& part : parts) {
    std::vector<double> of_part;
    for (const ShownCell& shown : part) {
      AddCounts(*shown.cell, &cell);
      diverged += shown.cell->diverged();
      results += shown.cell->count();
      not_run = not_run && shown.cell->not_run();
      evaluations = std::max(evaluations, shown.cell->evaluations());
      trainings = trainings == 0 ? shown.cell->trainings() : std::min(trainings, shown.cell->trainings());
      const std::optional<double> number = ShownNumber(*shown.cell, shown.statistic);
      if (number) of_part.push_back(*number);
      complete = complete && number;
    }
    if (!of_part.empty()) numbers.push_back(Mean(of_part));
  }
  cell.set_diverged(diverged);
  cell.set_count(complete ? results : 0);
  if (not_run) cell.set_not_run(true);
  if (!complete) return cell;
  cell.set_mean(Mean(numbers));
  cell.set_trainings(trainings);
  cell.set_evaluations(evaluations);
  return cell;
}

}  // namespace inlier
