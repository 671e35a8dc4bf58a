#include "results/figures/plot_trial.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "spec/schema/number_text.h"
#include "spec/schema/struct_value.h"

namespace inlier {
namespace {

using google::protobuf::Value;

bool TextMatches(const std::string& text, const Value& wanted) {
  if (wanted.kind_case() == Value::kListValue) {
    const auto& values = wanted.list_value().values();
    return std::ranges::any_of(values, [&](const Value& one) { return TextMatches(text, one); });
  }
  if (wanted.kind_case() == Value::kNullValue) return text.empty();
  if (text == ValueText(wanted)) return true;
  // A column has true as 1.
  if (wanted.kind_case() == Value::kBoolValue) return text == (wanted.bool_value() ? "1" : "0");
  const std::optional<double> number = ParseNumber(text);
  return wanted.kind_case() == Value::kNumberValue && number.has_value() && *number == wanted.number_value();
}

}  // namespace

const std::string& TextOf(const PlotTrial& trial, const std::string& name) {
  static const std::string none;
  if (const auto label = trial.labels.find(name); label != trial.labels.end()) return label->second;
  const auto column = trial.columns.find(name);
  return column == trial.columns.end() ? none : column->second;
}

bool Matches(const PlotTrial& trial, const google::protobuf::Map<std::string, Value>& where) {
  return std::ranges::all_of(where, [&](const auto& condition) {
    return TextMatches(TextOf(trial, condition.first), condition.second);
  });
}

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
