#include "coordinator/metrics/sweep_results.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/log.h"
#include "coordinator/store/sweep_json.h"
#include "spec/program/measurement_list.h"

namespace inlier {
namespace {

// One row for each measurement and setting.
constexpr char kBest[] =
    "SELECT result.name, json_extract(stage.spec, '$.quantization.weights.bits') AS weights, "
    "json_extract(stage.spec, '$.quantization.activations.bits') AS activations, min(result.value), "
    "max(result.value) "
    "FROM trial JOIN stage ON stage.id IN (trial.train_stage, trial.evaluate_stage) "
    "JOIN measurement AS result ON result.token = stage.result_token AND result.final = 1 "
    "WHERE trial.sweep = ?1 AND trial.point >= 0 AND result.site = '' AND result.value IS NOT NULL "
    "GROUP BY result.name, weights, activations";

}  // namespace

SweepResults::Results SweepResults::Of(const std::vector<SweepId>& sweeps) {
  if (reading_.valid() && reading_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    known_.merge(reading_.get());
  Results results;
  std::vector<SweepId> others;
  for (const SweepId id : sweeps) {
    const auto at = known_.find(id);
    if (at == known_.end()) {
      others.push_back(id);
    } else {
      results.insert(*at);
    }
  }
  known_ = results;
  if (others.empty() || reading_.valid()) return results;
  reading_ = std::async([this, others = std::move(others)] {
    Results read;
    for (const SweepId id : others) read[id] = Read(id);
    return read;
  });
  return results;
}

// Empty for a sweep that cannot be read.
std::vector<SweepValue> SweepResults::Read(SweepId sweep) {
  std::vector<SweepValue> values;
  const absl::StatusOr<SqlRows> found = reader_.Select(kBest, {sweep.value()});
  if (!found.ok()) {
    spdlog::warn("sweep_results_not_read sweep={} reason={}", sweep.ToString(),
                 LogText(found.status().message()));
    return values;
  }
  const absl::StatusOr<SqlRows> stored =
      reader_.Select("SELECT spec FROM sweep WHERE id = ?1", {sweep.value()});
  if (!stored.ok() || stored->rows.empty()) return values;
  const absl::StatusOr<v1::SweepSpec> spec = SweepSpecFromJson(Text(stored->rows[0][0]));
  if (!spec.ok()) return values;
  const std::shared_ptr<const MeasurementList> measurements = MeasurementList::Of(*spec);
  for (const std::vector<SqlValue>& row : found->rows) {
    const MeasurementInfo* const info = measurements->Find(Text(row[0]));
    if (info == nullptr || !SweepValues::Has(*info)) continue;
    values.push_back({.name = std::string(info->name),
                      .better = info->better,
                      .setting = SettingText(static_cast<std::uint32_t>(Integer(row[1])),
                                             static_cast<std::uint32_t>(Integer(row[2]))),
                      .best = Real(info->better == Better::kHigher ? row[4] : row[3]),
                      .latest = std::nullopt});
  }
  return values;
}

}  // namespace inlier
