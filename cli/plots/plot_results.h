// The results of a figure's trials, by training.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_PLOTS_PLOT_RESULTS_H_
#define INLIER_CLI_PLOTS_PLOT_RESULTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/statistics/nested_results.h"
#include "cli/plots/plot_trials.h"

namespace inlier {

// The stage that a result is of.
const std::string& StageOf(const PlotTrial& trial, bool of_training);

// Of the measurement with this number in PlotTrial::measurements; a result that several trials share counts once.
NestedSummary ResultsOf(const std::vector<const PlotTrial*>& trials, std::size_t measurement,
                        bool of_training);

// The trials that have the first two measurements, by training, in the order of the trainings' first ones.
std::vector<std::vector<const PlotTrial*>> ByTraining(const std::vector<const PlotTrial*>& trials);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_PLOT_RESULTS_H_
