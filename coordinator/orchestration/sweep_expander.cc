#include "coordinator/orchestration/sweep_expander.h"

#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/deliberate_bug.h"
#include "nlohmann/json.hpp"
#include "proto/spec/canonical.h"
#include "proto/spec/resolver.h"
#include "proto/spec/validator.h"

namespace inlier {

std::string LabelsJson(const std::vector<std::pair<std::string, std::string>>& labels) {
  std::string json = "{";
  for (const auto& [axis, label] : labels) {
    if (json.size() > 1) json += ",";
    json += JsonString(axis);
    json += ":";
    json += JsonString(label);
  }
  json += "}";
  return json;
}

namespace {

// {"axis":"label",...} without escapes, as LabelsJson writes nearly all of them; false for anything else.
bool PlainLabels(std::string_view json, std::vector<std::pair<std::string, std::string>>& labels) {
  if (json.size() < 2 || json.front() != '{' || json.back() != '}' || json.find('\\') != json.npos)
    return false;
  json = json.substr(1, json.size() - 2);
  const auto text = [&json](char after, std::string& out) {
    if (json.empty() || json.front() != '"') return false;
    const std::size_t end = json.find('"', 1);
    if (end == json.npos) return false;
    out = json.substr(1, end - 1);
    json.remove_prefix(end + 1);
    if (json.empty()) return after == ',';
    if (json.front() != after) return false;
    json.remove_prefix(1);
    return true;
  };
  while (!json.empty()) {
    auto& [axis, label] = labels.emplace_back();
    if (!text(':', axis) || !text(',', label)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LabelsFromJson(const std::string& json) {
  std::vector<std::pair<std::string, std::string>> labels;
  if (PlainLabels(json, labels)) return labels;
  labels.clear();
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return labels;
  for (const auto& [axis, label] : parsed.items()) {
    if (label.is_string()) labels.emplace_back(axis, label.get<std::string>());
  }
  return labels;
}

SweepExpander::SweepExpander(SweepGrid grid, std::uint64_t next_point)
    : grid_(std::move(grid)), next_point_(next_point) {}

std::vector<ExpandedTrial> SweepExpander::Next(std::uint64_t limit, std::unordered_set<std::uint64_t>& taken,
                                               std::uint64_t pass_limit) {
  std::vector<ExpandedTrial> trials;
  std::uint64_t passed = 0;
  while (trials.size() < limit && (passed == 0 || passed < pass_limit) && next_point_ < grid_.size()) {
    const std::optional<std::uint64_t> index = grid_.NextIndex(next_point_);
    if (!index) {
      next_point_ = grid_.size();
      break;
    }
    next_point_ = *index + (INLIER_BUG("grid_point_skipped") ? 2 : 1);
    if (taken.erase(*index) > 0) {
      ++passed;
      continue;
    }
    absl::StatusOr<GridPoint> point = grid_.At(*index);
    INLIER_CHECK(point.ok());
    ExpandedTrial& trial = trials.emplace_back();
    trial.point = *index;
    trial.labels = std::move(point->labels);
    absl::StatusOr<v1::TrialSpec> resolved = ResolveAndValidate(point->spec);
    trial.problem = resolved.status();
    trial.spec = resolved.ok() ? *std::move(resolved) : std::move(point->spec);
    trial.spec_json = ResolvedJson(trial.spec);
    if (!trial.problem.ok()) continue;
    trial.train_fingerprint = TrainFingerprint(trial.spec);
    trial.evaluate_fingerprint = EvaluateFingerprint(trial.spec);
  }
  return trials;
}

}  // namespace inlier
