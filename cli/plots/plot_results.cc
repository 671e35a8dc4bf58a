#include "cli/plots/plot_results.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace inlier {

const std::string& StageOf(const PlotTrial& trial, bool of_training) {
  return of_training ? trial.train_stage : trial.evaluate_stage;
}

NestedSummary ResultsOf(const std::vector<const PlotTrial*>& trials, std::size_t measurement,
                        bool of_training) {
  std::set<std::string> seen;
  std::vector<std::pair<std::string, double>> results;
  for (const PlotTrial* trial : trials) {
    const double value = trial->measurements[measurement];
    if (std::isnan(value)) continue;
    const std::string& stage = StageOf(*trial, of_training);
    if (stage.empty() || seen.insert(stage).second) results.emplace_back(trial->train_stage, value);
  }
  return SummariseNested(results);
}

std::vector<std::vector<const PlotTrial*>> ByTraining(const std::vector<const PlotTrial*>& trials) {
  std::vector<std::vector<const PlotTrial*>> found;
  std::map<std::string, std::size_t> places;
  for (const PlotTrial* trial : trials) {
    if (std::isnan(trial->measurements[0]) || std::isnan(trial->measurements[1])) continue;
    const std::string& key = trial->train_stage.empty() ? trial->id : trial->train_stage;
    const auto [place, is_new] = places.try_emplace(key, found.size());
    if (is_new) found.emplace_back();
    found[place->second].push_back(trial);
  }
  return found;
}

}  // namespace inlier
