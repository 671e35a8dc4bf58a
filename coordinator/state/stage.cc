#include "coordinator/state/stage.h"

#include <algorithm>

#include "spec/trial/canonical.h"

namespace inlier {

const StageDetail Stage::kEmptyDetail;

bool StageDetail::IsEmpty() const {
  return spec.empty() && dependents.empty() && live == 0 && crashed_on.empty() && holder == 0 &&
         failures == StageFailures() && ran_ms == 0 && message.empty() && resume_path.empty() &&
         resume_step == 0 && resume_sha256.empty() && !not_before;
}

double Stage::Weight() const {
  const double whole = std::max(1.0, static_cast<double>(steps));
  return kind == v1::EVALUATE_STAGE ? whole * kEvaluateWeight : whole;
}

void Stage::ForgetCheckpoint() {
  if (detail_ == nullptr) return;
  detail_->resume_path.clear();
  detail_->resume_step = 0;
  detail_->resume_sha256.clear();
}

void Stage::ForgetSpec() {
  if (detail_ == nullptr) return;
  std::string().swap(detail_->spec);
  Tidy();
}

bool Stage::HasSweep(SweepId id) const { return std::find(sweeps.begin(), sweeps.end(), id) != sweeps.end(); }

bool Stage::RemoveSweep(SweepId id) {
  const auto at = std::find(sweeps.begin(), sweeps.end(), id);
  if (at == sweeps.end()) return false;
  sweeps.erase(at);
  return true;
}

std::optional<TrialId> Stage::FirstDependentOf(SweepId id) const {
  const auto at = detail().dependents.lower_bound({id, TrialId()});
  if (at == detail().dependents.end() || at->first != id) return std::nullopt;
  return at->second;
}

absl::InlinedVector<Dependent, 2> Stage::Dependents() const {
  absl::InlinedVector<Dependent, 2> first;
  const auto& dependents = detail().dependents;
  auto at = dependents.begin();
  while (at != dependents.end()) {
    first.push_back({at->first, at->second});
    at = dependents.lower_bound({SweepId(at->first.value() + 1), TrialId()});
  }
  return first;
}

std::vector<TrialId> Stage::DependentTrials() const {
  std::vector<TrialId> trials;
  trials.reserve(detail().dependents.size());
  for (const auto& [sweep, trial] : detail().dependents) trials.push_back(trial);
  return trials;
}

bool Stage::AddDependent(SweepId id, TrialId trial) {
  const bool first = !IsNeededBy(id);
  edit().dependents.emplace(id, trial);
  return first;
}

bool Stage::RemoveDependent(SweepId id, TrialId trial) {
  return detail_ != nullptr && detail_->dependents.erase({id, trial}) > 0 && !IsNeededBy(id);
}

std::string PackedSpec(const std::string& spec) {
  if (!spec.starts_with('{')) return spec;  // No serialised TrialSpec begins with this byte.
  const absl::StatusOr<v1::TrialSpec> read = TrialSpecFromJson(spec);
  return read.ok() ? read->SerializeAsString() : spec;
}

}  // namespace inlier
