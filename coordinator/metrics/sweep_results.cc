#include "coordinator/metrics/sweep_results.h"

#include <spdlog/spdlog.h>

#include <algorithm>
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

SweepResults::SweepResults(std::filesystem::path database_path)
    : reader_(std::move(database_path), 1), thread_([this] { Run(); }) {}

SweepResults::~SweepResults() {
  reader_.Stop();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::map<SweepId, std::vector<SweepValue>> SweepResults::Of(const std::vector<SweepId>& sweeps) {
  std::map<SweepId, std::vector<SweepValue>> results;
  const std::lock_guard lock(mutex_);
  std::map<SweepId, std::optional<std::vector<SweepValue>>> wanted;
  for (const SweepId id : sweeps) {
    std::optional<std::vector<SweepValue>>& values = wanted[id];
    if (const auto at = known_.find(id); at != known_.end()) values = std::move(at->second);
    if (values) results.emplace(id, *values);
  }
  known_ = std::move(wanted);
  changed_.notify_all();
  return results;
}

void SweepResults::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const auto next = std::ranges::find_if(known_, [](const auto& entry) { return !entry.second; });
    if (next == known_.end()) {
      changed_.wait(lock);
      continue;
    }
    const SweepId id = next->first;
    lock.unlock();
    std::vector<SweepValue> values = Read(id);
    lock.lock();
    if (const auto at = known_.find(id); at != known_.end()) at->second = std::move(values);
  }
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
