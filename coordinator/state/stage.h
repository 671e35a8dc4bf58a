// A stage in memory. There are up to two for each trial, and they are known for the life of the coordinator:
// every stage has the fields of Stage; what only a stage without a result needs is in a StageDetail, which is
// freed when it is empty.
#ifndef INLIER_COORDINATOR_STATE_STAGE_H_
#define INLIER_COORDINATOR_STATE_STAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/inlined_vector.h"
#include "base/digest.h"
#include "base/time.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

// An evaluation counts as this part of its training, in estimates of the work that is done.
inline constexpr double kEvaluateWeight = 0.1;

// A committed checkpoint of a training that has no result yet.
struct ResumePoint {
  std::string path;  // Below the state folder.
  std::uint64_t step = 0;
  std::string sha256;  // If the trial reported it.
};

struct StageDetail {
  // Its part of the resolved TrialSpec (canonical.h), serialised, or as JSON where it was recovered: see
  // PackedSpec. Freed when the stage has a result; of a training when its evaluations have theirs, too.
  std::string spec;
  absl::btree_set<std::pair<SweepId, TrialId>> dependents;  // Trials that need it. Changed by Stage only.
  Token live = 0;                                           // The running attempt; 0: none.
  std::string crashed_on;    // Worker's incarnation and device of its latest crash.
  std::uint32_t holder = 0;  // TRAIN, unfinished: number of the worker that wrote the latest checkpoint.
  StageFailures failures;
  // Time of its ended attempts, since it was made or last retried. EVALUATE: with the training's, where a sweep that waited
  // for both has trial_hours.
  std::int64_t ran_ms = 0;
  std::string message;                     // Why it failed.
  std::vector<ResumePoint> resume_points;  // TRAIN: those of most steps first, at most kResumePointsMax.
  std::optional<Timestamp> not_before;     // Time of the next retry.

  std::uint64_t resume_step() const { return resume_points.empty() ? 0 : resume_points.front().step; }
  // "from step 120", or `beginning`.
  std::string ResumeText(const char* beginning) const;
  void AddResumePoint(ResumePoint point);
  // An attempt that could not use the first of them has started at `step`: none but the one there is of use.
  void ResumedAt(std::uint64_t step);
  bool IsEmpty() const;
};

// A sweep that depends on a stage, and the first of its trials that does.
struct Dependent {
  SweepId sweep;
  TrialId trial;
};

struct Stage {
  StageId id;
  Digest fingerprint{};
  v1::StageKind kind = v1::TRAIN_STAGE;
  StageState state = v1::PENDING;
  StageFate fate = StageFate::kWhole;
  bool ready = false;                  // In the ready queue.
  std::uint32_t open_evaluations = 0;  // TRAIN: those of `evaluations` without a result.
  std::uint32_t attempts = 0;          // So far, over all retries.
  std::uint32_t steps = 0;             // Updates of the training; 0: it counts epochs.
  // The data that it is bound to; a row without a digest while they are not known. Zero for an evaluation without files of its
  // own.
  DataId data;
  StageId train;  // EVALUATE: the stage whose checkpoint it needs.
  StageId start;  // TRAIN: the training that it starts from; zero: none of this coordinator.
  absl::InlinedVector<StageId, 2> evaluations;  // TRAIN: the stages that need its checkpoint, oldest first.
  absl::InlinedVector<SweepId, 2> sweeps;       // Sweeps with a trial on this stage.

  bool IsFreed() const { return fate == StageFate::kFreed || fate == StageFate::kEmpty; }

  // Work in training steps, for shares of the whole.
  double Weight() const;

  // Empty if the stage has none.
  const StageDetail& detail() const { return detail_ != nullptr ? *detail_ : kEmptyDetail; }
  StageDetail& edit() {
    if (detail_ == nullptr) detail_ = std::make_unique<StageDetail>();
    return *detail_;
  }
  // Frees an empty detail.
  void Tidy() {
    if (detail_ != nullptr && detail_->IsEmpty()) detail_.reset();
  }
  Token live() const { return detail().live; }
  void SetMessage(const std::string& message) {
    if (!message.empty() || detail_ != nullptr) edit().message = message;
  }
  void ForgetSpec();

  bool HasSweep(SweepId id) const;
  bool RemoveSweep(SweepId id);  // False: it was not there.

  // Trials that depend on the stage: those that run it, and those whose training starts from it (sources.h).
  bool IsNeeded() const { return !detail().dependents.empty(); }
  bool IsNeededBy(SweepId id) const { return FirstDependentOf(id).has_value(); }
  bool IsNeededBy(SweepId id, TrialId trial) const { return detail().dependents.contains({id, trial}); }
  std::optional<TrialId> FirstDependentOf(SweepId id) const;
  absl::InlinedVector<Dependent, 2> Dependents() const;  // One per sweep, by sweep.
  std::vector<TrialId> DependentTrials() const;          // By sweep, then trial.
  bool AddDependent(SweepId id, TrialId trial);          // True: the first of its sweep.
  bool RemoveDependent(SweepId id, TrialId trial);       // True: the last of its sweep.

 private:
  static const StageDetail kEmptyDetail;

  std::unique_ptr<StageDetail> detail_;
};

// `spec`, a part of a TrialSpec, serialised. Reading JSON takes about 100 µs: too slow for all stages at a
// start, so a recovered stage keeps JSON until it is leased. Text that cannot be read stays as it is.
std::string PackedSpec(const std::string& spec);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_STAGE_H_
