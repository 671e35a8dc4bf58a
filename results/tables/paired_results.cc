#include "results/tables/paired_results.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "results/statistics/mean.h"

namespace inlier {
namespace {

using Labels = std::map<std::string, std::string>;

std::uint64_t HashOf(const std::string& axis, const std::string& label) {
  return std::hash<std::string>()(absl::StrCat(axis, "\n", label));
}

// True where trials that agree in all labels but this axis' have one training, and some of them two labels.
bool TouchesEvaluationsAlone(const std::string& axis, const std::vector<const TrialValues*>& trials,
                             const std::vector<std::uint64_t>& hashes) {
  std::unordered_map<std::uint64_t, const TrialValues*> first;  // By the other labels.
  bool varies = false;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto label = trials[i]->labels.find(axis);
    if (label == trials[i]->labels.end()) continue;
    const auto [place, is_new] = first.emplace(hashes[i] - HashOf(axis, label->second), trials[i]);
    if (is_new) continue;
    if (place->second->train_stage != trials[i]->train_stage) return false;
    varies = varies || place->second->labels.at(axis) != label->second;
  }
  return varies;
}

// The results of one training: by the labels of its evaluations, by stage.
using OfTraining = std::map<Labels, std::map<std::string, double>>;
// By the labels that pairs agree in, by training.
using Results = std::map<Labels, std::map<std::string, OfTraining>>;

Results ResultsOf(const std::vector<const TrialValues*>& trials, const PairedAxes& axes,
                  const MeasurementChoice& measurement) {
  Results results;
  for (const TrialValues* trial : trials) {
    if (!HasResult(*trial, measurement)) continue;
    Labels of_training, of_evaluation;
    for (const auto& [axis, label] : trial->labels) {
      if (axes.compared.contains(axis)) continue;
      (axes.evaluations.contains(axis) ? of_evaluation : of_training)[axis] = label;
    }
    results[of_training][trial->train_stage][of_evaluation][StageOf(*trial, measurement)] =
        trial->measurements[measurement.number];
  }
  return results;
}

// The axes with a label in some trial.
std::set<std::string> AxesOf(const std::vector<const TrialValues*>& trials) {
  std::set<std::string> axes;
  for (const TrialValues* trial : trials) {
    for (const auto& [axis, label] : trial->labels) {
      if (!label.empty()) axes.insert(axis);
    }
  }
  return axes;
}

// The mean over the evaluations of `training` that `other` has too, or over all where it has none of them.
double MeanOf(const OfTraining& training, const OfTraining& other) {
  std::map<std::string, double> common, all;  // By stage: each result once.
  for (const auto& [labels, of_stage] : training) {
    all.insert(of_stage.begin(), of_stage.end());
    if (other.contains(labels)) common.insert(of_stage.begin(), of_stage.end());
  }
  std::vector<double> values;
  for (const auto& [stage, value] : common.empty() ? all : common) values.push_back(value);
  return Mean(values);
}

}  // namespace

std::set<std::string> AxesOfEvaluations(const std::vector<const TrialValues*>& trials) {
  std::set<std::string> axes, found;
  std::vector<std::uint64_t> hashes;  // Sums over the labels: a subtraction removes one.
  for (const TrialValues* trial : trials) {
    std::uint64_t& hash = hashes.emplace_back(0);
    for (const auto& [axis, label] : trial->labels) {
      axes.insert(axis);
      hash += HashOf(axis, label);
    }
  }
  for (const std::string& axis : axes) {
    if (TouchesEvaluationsAlone(axis, trials, hashes)) found.insert(axis);
  }
  return found;
}

std::vector<std::pair<double, double>> PairResults(const std::vector<const TrialValues*>& ours,
                                                   const std::vector<const TrialValues*>& baseline,
                                                   const PairedAxes& axes,
                                                   const MeasurementChoice& measurement) {
  // An axis that one side alone has (`when` it has that method) is a part of what is compared.
  const std::set<std::string> of_ours = AxesOf(ours), of_baseline = AxesOf(baseline);
  PairedAxes apart = axes;
  std::set_symmetric_difference(of_ours.begin(), of_ours.end(), of_baseline.begin(), of_baseline.end(),
                                std::inserter(apart.compared, apart.compared.end()));
  const Results results = ResultsOf(ours, apart, measurement);
  const Results others = ResultsOf(baseline, apart, measurement);
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::pair<double, double>> pairs;
  for (const auto& [labels, trainings] : results) {
    const auto other = others.find(labels);
    if (other == others.end() || trainings.size() != 1 || other->second.size() != 1) continue;
    const auto& [training, evaluations] = *trainings.begin();
    const auto& [other_training, other_evaluations] = *other->second.begin();
    if (!seen.emplace(training, other_training).second) continue;
    pairs.emplace_back(MeanOf(evaluations, other_evaluations), MeanOf(other_evaluations, evaluations));
  }
  return pairs;
}

}  // namespace inlier
