// The trials of a figure: their labels, numbers, and which of them repeat one another.
#ifndef INLIER_RESULTS_FIGURES_PLOT_TRIAL_H_
#define INLIER_RESULTS_FIGURES_PLOT_TRIAL_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/struct.pb.h"
#include "results/statistics/nested_results.h"

namespace inlier {

struct PlotTrial {
  std::string id;
  std::string state;
  std::string train_stage;                     // Empty for an invalid trial, as the next.
  std::string evaluate_stage;                  // Trials with the same one have one result.
  std::map<std::string, std::string> labels;   // Axis -> label.
  std::map<std::string, std::string> columns;  // The requested ones, as text; "" for NULL.
  std::vector<double> measurements;            // In the requested order; NaN: it has none.
};

// Step and value, by growing step; without NaN.
using Curve = std::vector<std::pair<double, double>>;

// The trial's label where it has that axis, else its column; "" where it has neither.
const std::string& TextOf(const PlotTrial& trial, const std::string& name);

// True when all of `where` hold, as in tables: numbers compare as numbers, null is "", any item of a list may match.
bool Matches(const PlotTrial& trial,
             const google::protobuf::Map<std::string, google::protobuf::Value>& where);

const std::string& StageOf(const PlotTrial& trial, bool of_training);

// Summarises the measurement with this number; a result that several trials share counts once.
NestedSummary ResultsOf(const std::vector<const PlotTrial*>& trials, std::size_t measurement,
                        bool of_training);

// The trials that have the first two measurements, by training, in the order of the trainings' first ones.
std::vector<std::vector<const PlotTrial*>> ByTraining(const std::vector<const PlotTrial*>& trials);

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_PLOT_TRIAL_H_
