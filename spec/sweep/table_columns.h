// The columns of a table: their headings, the columns that one is the mean of, their form, and that some trial has their numbers.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SWEEP_TABLE_COLUMNS_H_
#define INLIER_SPEC_SWEEP_TABLE_COLUMNS_H_

#include <string>
#include <vector>

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/program/measurement_list.h"
#include "spec/schema/problems.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// The column's own heading, else its measurement, with the statistic unless that is the mean.
std::string HeadingOf(const v1::TableColumn& column);

// The first column with this heading, or -1.
int FindColumn(const v1::TableSpec& table, const std::string& heading);

// The numbers of the columns in mean_of: a mean over the outer list of the means of the inner ones; headings that name no column are left out.
std::vector<std::vector<int>> MeanParts(const v1::TableSpec& table, const v1::TableColumn& column);

// Adds a problem, with its path below "table", for a column with missing or contradicting fields, an unknown measurement
// and an unknown heading. Axes and columns of `trials` are not checked.
void CheckTableForm(const v1::TableSpec& table, const MeasurementList& measurements, Problems* problems);

// Adds a problem for each column of its table whose number, or best_of.by, no trial of the sweep measures (evaluation.measure),
// and for each objective and constraint of a search that some trial lacks. None where there are more than SweepGrid::kPointsChecked
// points; of a column none where a condition is not of an axis.
void CheckMeasured(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_TABLE_COLUMNS_H_
