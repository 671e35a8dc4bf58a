// Makes a figure's numbers from the trials of a sweep.
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

// The arguments of ReadPlotTrials for a figure. REQUIRES, also of all below: CheckFigure has found nothing.
std::set<std::string> ColumnsOf(const v1::FigureSpec& spec, const SweepGrid& grid);
std::vector<std::string> MeasurementsOf(const v1::FigureSpec& spec);

// The trials that match `spec.where`.
std::vector<const PlotTrial*> MatchingTrials(const v1::FigureSpec& spec, const SweepGrid& grid,
                                             const std::vector<PlotTrial>& trials);

// The curves of the measurement `spec.y` of these trials.
using CurveReader =
    std::function<absl::StatusOr<std::map<std::string, Curve>>(const std::vector<std::string>& trials)>;

// The figure of a kind with data in the database. A result that several trials share counts once. `series` are by default
// the axes but seeds that change what is drawn. NotFound: no trial matches, or none has the number yet. InvalidArgument:
// x has no numbers, or a logarithmic axis has numbers that are not above 0.
absl::StatusOr<Figure> BuildFigure(const v1::FigureSpec& spec, const SweepGrid& grid,
                                   const std::vector<PlotTrial>& trials, const CurveReader& read_curves);

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_FIGURE_BUILDER_H_
