// What the orchestrator remembers of sweeps, trials, stages and attempts. Plain data; the rules are in
// Orchestrator.
//
// A trial *needs* a stage until the trial has ended or the stage has SUCCEEDED. A stage that no trial needs
// is never leased: it has a result, or it is FAILED or CANCELLED. Stages are shared: trials of several sweeps
// may need the same one.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_MODEL_H_
#define INLIER_COORDINATOR_ORCHESTRATION_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/time.h"
#include "coordinator/orchestration/label_pool.h"
#include "coordinator/orchestration/pruner.h"
#include "coordinator/orchestration/short_id.h"
#include "coordinator/orchestration/stage.h"
#include "coordinator/orchestration/sweep_expander.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/snapshot.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

// Both clocks, read at once by the shell: `at` for deadlines, `wall` for rows and people.
struct Moment {
  Timestamp at;
  WallTime wall;
};

inline bool IsTerminal(v1::TrialState state) { return state != v1::PENDING && state != v1::RUNNING; }
// SUCCEEDED and DIVERGED: never changes again, not even by a retry.
inline bool IsResult(v1::TrialState state) { return state == v1::SUCCEEDED || state == v1::DIVERGED; }

// How long an attempt that was told to yield may take to write its checkpoint and stop: the worker gives its
// child stop_grace_ms (at most 600 s) and then kills it.
inline constexpr Duration kYieldTerm = std::chrono::seconds(660);

struct Trial {
  TrialId id;
  std::uint64_t point = 0;
  PackedLabels labels;  // None when it has a result.
  ShortId<SweepId> sweep;
  ShortId<StageId> train;  // Both zero for a trial that is invalid.
  ShortId<StageId> evaluate;
  v1::TrialState state : 8 = v1::PENDING;
  TrialPruningState pruning : 8 = TrialPruningState::kNone;
  bool withdrawn : 8 = false;  // By an edit of the sweep: no point of it any more, and in none of its counts.

  const std::string& message() const { return message_ != nullptr ? *message_ : kNoMessage; }
  void SetMessage(const std::string& message) {
    message_ = message.empty() ? nullptr : std::make_unique<std::string>(message);
  }

 private:
  static inline const std::string kNoMessage;

  std::unique_ptr<std::string> message_;
};

static_assert(sizeof(Trial) <= 48, "there may be millions");

// Of a training that has SUCCEEDED.
struct Trained {
  StageId id;
  Digest checkpoint{};       // Of the trained model.
  std::uint32_t holder = 0;  // Number of the worker that wrote it; 0: not known.
};

// Stages of one kind in a sweep.
struct StageTally {
  std::uint64_t total = 0;
  std::uint64_t needed = 0;  // Not settled yet: some trial of the sweep needs it.
  double weight_total = 0;
  double weight_needed = 0;
  // Of attempts that ended with a result while this process ran: for the time that is left.
  double seconds = 0;
  double units = 0;  // TRAIN: steps; EVALUATE: attempts.
};

struct Sweep {
  SweepId id;
  // Its specification without what only the making of trials and people need: that is in `plan`.
  v1::SweepSpec spec;
  std::string plan;         // Base, axes, exclusions, sampling, table and description, serialised.
  std::uint32_t steps = 0;  // Of its base's training.
  ResourceRequest request;  // Its spec's.
  v1::SweepState state = v1::ACTIVE;
  std::uint64_t points = 0;
  std::optional<std::uint64_t> kept;  // Exact number of trials, where the grid knows it.
  std::uint64_t trials_told = 0;      // Answer of the submission: also when it comes again.
  std::uint64_t trials_known = 0;
  std::uint64_t next_point = 0;
  // Points from next_point on that have a trial already: the sweep was edited. Expansion passes over them.
  std::unordered_set<std::uint64_t> ahead;
  bool paused = false;
  std::uint64_t revision = 1;
  std::unique_ptr<SweepExpander>
      expander;  // Null when every point is a trial, or when no more are to be made.
  std::string request_id;
  std::string request_digest;
  WallTime submitted;
  std::optional<WallTime> ended;
  std::vector<ShortId<TrialId>> trials;  // Without those withdrawn.
  std::uint64_t withdrawn = 0;
  std::array<std::uint64_t, v1::TrialState_ARRAYSIZE> counts{};  // Of the trials made so far, by state.
  StageTally train;
  StageTally evaluate;
  std::unique_ptr<Pruner> pruner;  // With SweepSpec.pruning.
  // Train stage -> trials of the sweep that were pruned with it, and that a person asked for all the same;
  // withdrawn ones too, for what was said of the training stands.
  std::map<StageId, std::uint32_t> pruned;
  std::map<StageId, std::uint32_t> kept_from_pruning;
  std::uint64_t withdrawn_pruned = 0;
  std::uint64_t version = 0;         // Grows with everything that a watcher can see.
  std::vector<std::string> notices;  // The latest; the last one's number is `notices_told`.
  std::uint64_t notices_told = 0;    // Notices are numbered from 1 for the life of the sweep.

  void SetSpec(v1::SweepSpec whole);
  v1::SweepSpec WholeSpec() const;

  std::uint64_t Count(v1::TrialState of) const { return counts[static_cast<std::size_t>(of)]; }
  std::uint64_t& CountOf(v1::TrialState of) { return counts[static_cast<std::size_t>(of)]; }
  std::uint64_t Open() const { return Count(v1::PENDING) + Count(v1::RUNNING); }
  bool Exhausted() const { return next_point >= points; }
  // Trials it has when fully expanded: exact when the grid can count, else the points not looked at yet count
  // as trials.
  std::uint64_t Total() const {
    return Exhausted() ? trials.size() : kept ? *kept : trials.size() + (points - next_point - ahead.size());
  }
};

// A live attempt.
struct Attempt {
  Token token = 0;
  StageId stage;
  SweepId sweep;  // Charged for it.
  TrialId trial;  // The first trial that needed the stage.
  std::string worker;
  v1::Assignment assignment;  // As the worker is told, without the specification: that is its stage's.
  v1::Progress progress;
  Timestamp started;       // Or adopted after a restart.
  Timestamp progressed;    // Its progress changed last.
  Timestamp saved;         // Its latest checkpoint came, or it started: what it would lose began then.
  bool recovered = false;  // Started before this process did: its times are not known.
  bool unclaimed = false;  // Recovered, and its worker has not come back yet.
  std::string yields;      // Why it was told to write a checkpoint and stop; empty: it was not.
  Timestamp yields_until;  // With `yields`: it is given up then.
  std::uint64_t resumed_step = 0;  // Where it says it began.
  std::string final_checkpoint;    // TRAIN: digest, once complete.
  std::uint64_t final_step = 0;
  ResourceRequest request;            // What it asked for when it was leased.
  std::uint64_t peak_memory_mib = 0;  // As its outcome says; 0: not known.
  std::uint64_t peak_gpu_memory_mib = 0;
  bool gpu_out_of_memory = false;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_MODEL_H_
