// From the trials of a cell to its numbers: trainings and their evaluations, the best point of a grid, means over labels.
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

namespace inlier {

using Trials = std::vector<const TrialValues*>;

// What a column of a measurement shows.
struct ColumnPlan {
  MeasurementChoice measurement;
  v1::TableColumn::Statistic statistic = v1::TableColumn::MEAN;
  std::vector<std::string> best_over;  // The grid of best_of.
  MeasurementChoice best_by;           // REQUIRES: it has a better direction.
  std::vector<std::string> mean_over;
};

struct MadeCell {
  v1::TableCell cell;  // Without trials' names and published figures.
  Trials trials;       // Behind it: of the best points; of all where none has a result yet.
};

// The number of a cell that its column shows; nothing without results.
std::optional<double> ShownNumber(const v1::TableCell& cell, v1::TableColumn::Statistic statistic);

// Results, statistics over trainings, and counts; a result that several trials share counts once.
v1::TableCell SummariseCell(const Trials& trials, const MeasurementChoice& measurement);

// SummariseCell of the best point's trials, where the column has a grid: of those points whose trainings have all not
// diverged (of all where none is such) the one with the best number of `best_by`; equal ones: the first in the order of
// the labels. What other points still lack is missing. With mean_over the mean over the labels' cells, which has no
// deviation, and no number until each label has one.
MadeCell MakeCell(const Trials& trials, const ColumnPlan& column, const TableNames& names);

// The mean over `parts` of the mean of each one's numbers, by the statistic of its column; no number until each has one.
struct ShownCell {
  const v1::TableCell* cell;
  v1::TableColumn::Statistic statistic;
};
v1::TableCell MeanOfCells(const std::vector<std::vector<ShownCell>>& parts);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_CELL_MAKER_H_
