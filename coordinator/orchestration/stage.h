// A stage as the orchestrator remembers it. There are two for each trial at most, and they are known for
// ever: what every stage has is here in 80 bytes, and what few have at a time (those that run, failed,
// resume, or that several trials need) in a StageDetail beside it, which is let go when it says nothing any
// more.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_STAGE_H_
#define INLIER_COORDINATOR_ORCHESTRATION_STAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/inlined_vector.h"
#include "base/digest.h"
#include "base/time.h"
#include "coordinator/orchestration/short_id.h"
#include "coordinator/orchestration/spec_pool.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

// Evaluating costs about so much of training, for estimates of the work that is done.
inline constexpr double kEvaluateWeight = 0.1;

struct StageDetail {
  Token live = 0;  // The attempt that runs now; 0: none.
  std::uint32_t holder =
      0;  // TRAIN, without a result: number of the worker that wrote its latest checkpoint.
  StageFailures failures;
  std::string message;      // Why it failed.
  std::string resume_path;  // TRAIN: latest committed checkpoint; empty: none.
  std::uint64_t resume_step = 0;
  std::string resume_sha256;            // Its digest, where the trial told it.
  std::optional<Timestamp> not_before;  // Waits for a retry.
  std::vector<SweepId> more_sweeps;     // Beside Stage::sweep.
  std::map<SweepId, absl::btree_set<TrialId>>
      needed_by;  // When more than one trial of Stage::sweep needs it.

  bool IsEmpty() const;
};

// A sweep that needs a stage, and the first of its trials that does.
struct Needer {
  SweepId sweep;
  TrialId trial;
};

struct Stage {
  StageId id;
  Digest fingerprint{};
  ShortId<SweepId> sweep;      // One that has a trial on it; zero: none has.
  SpecHandle spec = kNoSpec;   // The resolved TrialSpec; none once there is a result.
  std::uint32_t attempts = 0;  // So far, over all retries.
  std::uint32_t steps = 0;     // Updates of the training; 0: it counts epochs, or is not known.
  v1::StageKind kind : 8 = v1::TRAIN_STAGE;
  StageState state : 8 = v1::PENDING;
  bool ready : 8 = false;  // In the scheduler's queues.

  // EVALUATE: the stage whose checkpoint it needs, and the next one that waits for the same.
  StageId train() const { return kind == v1::EVALUATE_STAGE ? StageId(first_link_) : StageId(); }
  StageId next_dependent() const { return kind == v1::EVALUATE_STAGE ? StageId(second_link_) : StageId(); }
  // TRAIN: the first and the last of those that wait for its checkpoint.
  StageId first_dependent() const { return kind == v1::TRAIN_STAGE ? StageId(first_link_) : StageId(); }
  StageId last_dependent() const { return kind == v1::TRAIN_STAGE ? StageId(second_link_) : StageId(); }
  // Makes it an evaluate stage of `train`, behind `last`, which is null when it is the first.
  // REQUIRES: it has no links yet.
  void Follow(Stage& train, Stage* last);

  // Work in training steps, for shares of the whole.
  double Weight() const;

  // What it says of itself, all empty when it has none.
  const StageDetail& detail() const { return detail_ != nullptr ? *detail_ : kEmptyDetail; }
  StageDetail& edit() {
    if (detail_ == nullptr) detail_ = std::make_unique<StageDetail>();
    return *detail_;
  }
  // Lets go what says nothing any more.
  void Tidy() {
    if (detail_ != nullptr && detail_->IsEmpty()) detail_.reset();
  }
  Token live() const { return detail().live; }
  void SetMessage(const std::string& message) {
    if (!message.empty() || detail_ != nullptr) edit().message = message;
  }
  void ForgetCheckpoint();  // That it could be resumed from.

  // Sweeps that have a trial on it.
  bool HasSweep(SweepId id) const;
  void AddSweep(SweepId id);     // REQUIRES: it is not there.
  bool RemoveSweep(SweepId id);  // False: it was not there. REQUIRES: none of its trials needs the stage.
  std::vector<SweepId> Sweeps() const;

  // Trials that need it. REQUIRES of changes: their sweep has it.
  bool IsNeeded() const { return needer_ || (detail_ != nullptr && !detail_->needed_by.empty()); }
  bool IsNeededBy(SweepId id) const { return FirstNeederOf(id).has_value(); }
  bool IsNeededBy(SweepId id, TrialId trial) const;
  std::optional<TrialId> FirstNeederOf(SweepId id) const;
  absl::InlinedVector<Needer, 2> Needers() const;  // By sweep.
  std::vector<TrialId> NeedingTrials() const;      // By sweep, then trial.
  bool AddNeed(SweepId id, TrialId trial);         // True: none of the sweep needed it before.
  enum class Removed { kNothing, kTrial, kSweep };
  Removed RemoveNeed(SweepId id, TrialId trial);  // kSweep: the trial was the sweep's last.

 private:
  static const StageDetail kEmptyDetail;

  ShortId<StageId> first_link_;
  ShortId<StageId> second_link_;
  ShortId<TrialId> needer_;  // The only one, of `sweep`; else zero.
  std::unique_ptr<StageDetail> detail_;
};

static_assert(sizeof(Stage) <= 80, "a million trials have two million of them");

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_STAGE_H_
