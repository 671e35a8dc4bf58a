// Titles of a figure's axes: the schema's name, with its symbol and unit.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_FIGURES_AXIS_TITLE_H_
#define INLIER_RESULTS_FIGURES_AXIS_TITLE_H_

#include <string>

#include "spec/sweep/sweep_grid.h"

namespace inlier {

// The title of an axis or a column of `trials`: "gamma (γ)", "method".
std::string AxisTitle(const std::string& name, const SweepGrid& grid);

// "train_loss (nat)", "max_inf_norm".
std::string MeasurementTitle(const std::string& name, const SweepGrid& grid);

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_AXIS_TITLE_H_
