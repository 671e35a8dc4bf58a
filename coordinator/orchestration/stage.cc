#include "coordinator/orchestration/stage.h"

#include <algorithm>

#include "base/check.h"

namespace inlier {

const StageDetail Stage::kEmptyDetail;

bool StageDetail::IsEmpty() const {
  return live == 0 && holder == 0 && failures == StageFailures() && message.empty() && resume_path.empty() &&
         resume_step == 0 && resume_sha256.empty() && !not_before && more_sweeps.empty() && needed_by.empty();
}

void Stage::Follow(Stage& train, Stage* last) {
  INLIER_CHECK(kind == v1::TRAIN_STAGE && !first_link_ && train.kind == v1::TRAIN_STAGE);
  kind = v1::EVALUATE_STAGE;
  first_link_ = train.id;
  if (last == nullptr) {
    train.first_link_ = id;
  } else {
    last->second_link_ = id;
  }
  train.second_link_ = id;
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

bool Stage::HasSweep(SweepId id) const {
  if (sweep == id) return true;
  const std::vector<SweepId>& more = detail().more_sweeps;
  return std::find(more.begin(), more.end(), id) != more.end();
}

void Stage::AddSweep(SweepId id) {
  if (!sweep) {
    sweep = id;
  } else {
    edit().more_sweeps.push_back(id);
  }
}

bool Stage::RemoveSweep(SweepId id) {
  INLIER_CHECK(!IsNeededBy(id));
  if (sweep != id) return detail_ != nullptr && std::erase(detail_->more_sweeps, id) > 0;
  sweep = SweepId();
  if (detail_ == nullptr || detail_->more_sweeps.empty()) return true;
  sweep = detail_->more_sweeps.front();
  detail_->more_sweeps.erase(detail_->more_sweeps.begin());
  return true;
}

std::vector<SweepId> Stage::Sweeps() const {
  std::vector<SweepId> all = detail().more_sweeps;
  if (sweep) all.insert(all.begin(), sweep);
  return all;
}

bool Stage::IsNeededBy(SweepId id, TrialId trial) const {
  if (needer_) return sweep == id && needer_ == trial;
  const auto at = detail().needed_by.find(id);
  return at != detail().needed_by.end() && at->second.contains(trial);
}

std::optional<TrialId> Stage::FirstNeederOf(SweepId id) const {
  if (needer_) return sweep == id ? std::optional<TrialId>(needer_) : std::nullopt;
  const auto at = detail().needed_by.find(id);
  if (at == detail().needed_by.end()) return std::nullopt;
  return *at->second.begin();
}

absl::InlinedVector<Needer, 2> Stage::Needers() const {
  absl::InlinedVector<Needer, 2> needers;
  if (needer_) needers.push_back({sweep, needer_});
  for (const auto& [id, trials] : detail().needed_by) needers.push_back({id, *trials.begin()});
  return needers;
}

std::vector<TrialId> Stage::NeedingTrials() const {
  std::vector<TrialId> all;
  if (needer_) all.push_back(needer_);
  for (const auto& [id, trials] : detail().needed_by) all.insert(all.end(), trials.begin(), trials.end());
  return all;
}

bool Stage::AddNeed(SweepId id, TrialId trial) {
  if (!IsNeeded() && id == sweep) {
    needer_ = trial;
    return true;
  }
  if (needer_) {
    if (id == sweep && trial == needer_) return false;
    edit().needed_by[sweep].insert(needer_);
    needer_ = TrialId();
  }
  absl::btree_set<TrialId>& trials = edit().needed_by[id];
  trials.insert(trial);
  return trials.size() == 1;
}

Stage::Removed Stage::RemoveNeed(SweepId id, TrialId trial) {
  if (needer_) {
    if (id != sweep || trial != needer_) return Removed::kNothing;
    needer_ = TrialId();
    return Removed::kSweep;
  }
  if (detail_ == nullptr) return Removed::kNothing;
  const auto at = detail_->needed_by.find(id);
  if (at == detail_->needed_by.end() || at->second.erase(trial) == 0) return Removed::kNothing;
  if (!at->second.empty()) return Removed::kTrial;
  detail_->needed_by.erase(at);
  return Removed::kSweep;
}

}  // namespace inlier
