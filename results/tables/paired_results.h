// Pairs of trainings that agree in everything that is not compared, thus in their seeds.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_TABLES_PAIRED_RESULTS_H_
#define INLIER_RESULTS_TABLES_PAIRED_RESULTS_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "results/tables/trial_values.h"

namespace inlier {

// Axes of which some training has trials with two labels, and trials that agree in all other labels have one training.
std::set<std::string> AxesOfEvaluations(const std::vector<const TrialValues*>& trials);

// The axes that pairs need not agree in.
struct PairedAxes {
  std::set<std::string> compared;     // The baseline's, and those of which a column takes the best point.
  std::set<std::string> evaluations;  // AxesOfEvaluations.
};

// A pair for two trainings whose trials agree in all other labels of axes that both sides have: the mean over the
// evaluations of ours, then the baseline's; where both have evaluations with equal labels, over those alone. Trainings
// that agree with several others make none.
std::vector<std::pair<double, double>> PairResults(const std::vector<const TrialValues*>& ours,
                                                   const std::vector<const TrialValues*>& baseline,
                                                   const PairedAxes& axes,
                                                   const MeasurementChoice& measurement);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_PAIRED_RESULTS_H_
