// Makes a cell's numbers from its trials: of trainings and their evaluations, of the best point of a grid, over labels.
//
// Thread safety: none.
#ifndef INLIER_RESULTS_TABLES_CELL_MAKER_H_
#define INLIER_RESULTS_TABLES_CELL_MAKER_H_

#include <optional>
#include <string>
#include <vector>

#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "results/tables/table_names.h"
#include "results/tables/trial_values.h"
#include "spec/sweep/label_groups.h"

namespace inlier {

using Trials = std::vector<const TrialValues*>;
using TrialGroup = LabelGroup<const TrialValues*>;

// The trials by combination of labels, in the order of the axes' labels (for a column, of the trials).
std::vector<TrialGroup> GroupTrials(const Trials& trials, const std::vector<std::string>& names,
                                    const TableNames& table_names);

// The content of a measurement's column.
struct ColumnPlan {
  MeasurementChoice measurement;
  v1::TableColumn::Statistic statistic = v1::TableColumn::MEAN;
  std::vector<std::string> best_over;  // The grid of best_of.
  MeasurementChoice best_by;           // REQUIRES: it has a better direction.
  std::vector<std::string> mean_over;
};

struct MadeCell {
  v1::TableCell cell;  // Without trials' names and published figures.
  Trials trials;       // Trials of the best points, or all where none has a result yet.
};

// The number of a cell that its column shows; nullopt without results.
std::optional<double> ShownNumber(const v1::TableCell& cell, v1::TableColumn::Statistic statistic);

// Results, statistics over trainings, and counts; a result that several trials share counts once.
v1::TableCell SummariseCell(const Trials& trials, const MeasurementChoice& measurement);

// SummariseCell; where the column has a grid, of the point with the best number of `best_by` (of equal ones the first in the
// order of the labels) among those without a diverged training, or among all. Missing values of other points count. With
// mean_over the mean over the labels' cells, which has no deviation, and no number until each label has one.
MadeCell MakeCell(const Trials& trials, const ColumnPlan& column, const TableNames& names);

struct ShownCell {
  const v1::TableCell* cell;
  v1::TableColumn::Statistic statistic;
};
// The mean over `parts` of the mean of each one's numbers, by the statistic of its column; no number until each has one.
v1::TableCell MeanOfCells(const std::vector<std::vector<ShownCell>>& parts);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_CELL_MAKER_H_
