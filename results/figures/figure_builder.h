// From the trials of a sweep to a figure's numbers.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_FIGURES_FIGURE_BUILDER_H_
#define INLIER_RESULTS_FIGURES_FIGURE_BUILDER_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "results/figures/figure.h"
#include "results/figures/plot_trial.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// The arguments of ReadPlotTrials for a figure. REQUIRES: CheckFigure has found nothing. The same for all below.
std::set<std::string> ColumnsOf(const v1::FigureSpec& spec, const SweepGrid& grid);
std::vector<std::string> MeasurementsOf(const v1::FigureSpec& spec);

// Of the trials that match `spec.where`.
std::vector<const PlotTrial*> MatchingTrials(const v1::FigureSpec& spec, const SweepGrid& grid,
                                             const std::vector<PlotTrial>& trials);

// The curves of the measurement `spec.y` of these trials.
using CurveReader =
    std::function<absl::StatusOr<std::map<std::string, Curve>>(const std::vector<std::string>& trials)>;

// Of a kind with data in the database. A result that several trials share counts once. Without `series` in the spec:
// the axes of the sweep but seeds, without those that change nothing in what is drawn.
// NotFound: no trial matches, or none has the number yet. InvalidArgument: x has no numbers, or a logarithmic axis has
// numbers that are not above 0.
absl::StatusOr<Figure> BuildFigure(const v1::FigureSpec& spec, const SweepGrid& grid,
                                   const std::vector<PlotTrial>& trials, const CurveReader& read_curves);

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_FIGURE_BUILDER_H_
