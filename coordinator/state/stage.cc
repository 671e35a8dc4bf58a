#include "coordinator/state/stage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spec/trial/canonical.h"

namespace inlier {

const StageDetail Stage::kEmptyDetail;

bool StageDetail::IsEmpty() const {
  return spec.empty() && dependents.empty() && live == 0 && crashed_on.empty() && holder == 0 &&
         failures == StageFailures() && ran_ms == 0 && message.empty() && resume_points.empty() &&
         !not_before;
}

std::string StageDetail::ResumeText(const char* beginning) const {
  return resume_points.empty() ? std::string(beginning) : absl::StrCat("from step ", resume_step());
}

void StageDetail::AddResumePoint(ResumePoint point) {
  const auto at =
      std::ranges::find_if(resume_points, [&](const ResumePoint& other) { return other.step <= point.step; });
  resume_points.insert(at, std::move(point));
  if (resume_points.size() > kResumePointsMax) resume_points.pop_back();
}

void StageDetail::ResumedAt(std::uint64_t step) {
  std::erase_if(resume_points, [step](const ResumePoint& point) { return point.step != step; });
}

double Stage::Weight() const {
  const double whole = std::max(1.0, static_cast<double>(steps));
  return kind == v1::EVALUATE_STAGE ? whole * kEvaluateWeight : whole;
}

void Stage::ForgetSpec() {
  if (detail_ == nullptr) return;
  std::string().swap(detail_->spec);
  Tidy();
}

bool Stage::HasSweep(SweepId id) const { return std::ranges::find(sweeps, id) != sweeps.end(); }

bool Stage::RemoveSweep(SweepId id) {
  const auto at = std::ranges::find(sweeps, id);
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
