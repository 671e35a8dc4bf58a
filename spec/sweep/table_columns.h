// The columns of a table: their headings, the columns that one is the mean of, and their form.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SWEEP_TABLE_COLUMNS_H_
#define INLIER_SPEC_SWEEP_TABLE_COLUMNS_H_

#include <string>
#include <vector>

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// The column's own, else its measurement, with the statistic where that is not the mean.
std::string HeadingOf(const v1::TableColumn& column);

// The column with this heading; -1: none. The first of several.
int FindColumn(const v1::TableSpec& table, const std::string& heading);

// The columns that `column` is the mean of (mean_of), by number: the mean over the outer lists of the mean of each.
// Headings that name none are left out.
std::vector<std::vector<int>> MeanParts(const v1::TableSpec& table, const v1::TableColumn& column);

// Adds a problem, with its path below "table", for a column without what it needs or with what does not go together, a
// measurement that is none, and a heading that names no column. Axes and columns of `trials` are not looked up.
void CheckTableForm(const v1::TableSpec& table, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_TABLE_COLUMNS_H_
