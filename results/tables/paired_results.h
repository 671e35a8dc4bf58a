// Pairs of trainings that agree in everything but what is compared, that is in their seeds.
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

// Axes that touch evaluations alone, known by the stages: some training has trials with two of their labels, and no two
// trials that agree in all other labels have different trainings.
std::set<std::string> AxesOfEvaluations(const std::vector<const TrialValues*>& trials);

// The axes that pairs need not agree in.
struct PairedAxes {
  std::set<std::string> compared;     // The baseline's, and those of which a column takes the best point.
  std::set<std::string> evaluations;  // AxesOfEvaluations.
};

// One pair for two trainings whose trials agree in all other labels of axes that both sides have: first the mean over the evaluations of ours, then the
// baseline's; where both have evaluations with equal labels, over those alone. Trainings that several others agree with
// make none.
std::vector<std::pair<double, double>> PairResults(const std::vector<const TrialValues*>& ours,
                                                   const std::vector<const TrialValues*>& baseline,
                                                   const PairedAxes& axes,
                                                   const MeasurementChoice& measurement);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_PAIRED_RESULTS_H_
