// A sweep in memory. Plain data; the rules are in sweeps/.
#ifndef INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_H_
#define INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "coordinator/state/live_values.h"
#include "coordinator/state/resources.h"
#include "coordinator/state/stage.h"
#include "coordinator/state/sweeps/pruner.h"
#include "coordinator/state/sweeps/sweep_expander.h"
#include "coordinator/state/usage_meter.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/program/measurement_list.h"

namespace inlier {

// Stages of one kind in a sweep.
struct StageTally {
  std::uint64_t total = 0;
  std::uint64_t needed = 0;  // Not settled yet: some trial of the sweep needs it.
  std::uint64_t done = 0;    // With a result, also one from before the sweep.
  double weight_total = 0;
  double weight_needed = 0;
  // Of attempts that ended with a result while this process ran: for the time that is left.
  double seconds = 0;
  double units = 0;  // TRAIN: steps; EVALUATE: attempts.
};

// Its submission, for the answer when it comes again.
struct SweepSubmission {
  std::string request_id;
  std::string digest;
  WallTime at;
  std::uint64_t trials = 0;
  std::uint64_t known = 0;
  bool again = false;  // Runs once more what has a result.
};

// Which trials it has, and which are still to be made.
struct SweepExpansion {
  std::uint64_t points = 0;
  std::uint64_t kept = 0;  // Points that are not left out.
  // With sampling.optuna: what was asked for. The points after it are not made yet, and nothing is ready for them.
  SweepGrid::SearchPoints asked;
  std::uint64_t next_point = 0;
  // Points from next_point on that have a trial already: the sweep was edited. Expansion skips them.
  std::unordered_set<std::uint64_t> ahead;
  // Null when no more trials are to be made for now, and after a start until the first is.
  std::unique_ptr<SweepExpander> expander;
  // The sweep's trials, or empty; made when a trial starts from another point's.
  std::unordered_map<std::uint64_t, TrialId> by_point;
};

// The data with which it began: its trials are compared with each other.
struct SweepData {
  std::map<DataId, DataId> of_source;
  Token since = 0;   // Of a source that is not in `of_source` it needs a digest found from this token on.
  DataId waits_for;  // Its expansion waits for the digest of this source.
};

// The sums of its attempts, and their limits (usage/usage.h, logs/logs.h).
struct SweepTime {
  UsageMeter usage;                // Of the attempts at stages that it needs.
  double charged_gpu_seconds = 0;  // Of ended attempts that are charged to it.
  std::uint64_t log_lines = 0;     // Kept of attempts that are charged to it.
  SweepUsage stored;               // As last stored.
  std::optional<Timestamp> limit_due;
};

// Trainings that were ended early. By train stage: the trials of the sweep that were pruned with it, and that a user
// asked for all the same; withdrawn ones too: the verdict about the training remains.
struct SweepPruning {
  std::unique_ptr<Pruner> pruner;  // With SweepSpec.pruning.
  std::map<StageId, std::uint32_t> pruned;
  std::map<StageId, std::uint32_t> kept;
  std::uint64_t withdrawn = 0;
};

// Notices are numbered from 1 for the life of the sweep.
struct SweepNotices {
  std::vector<std::string> latest;
  std::uint64_t last = 0;  // Number of the last one.

  // Number of the notice before the oldest in `latest`.
  std::uint64_t Forgotten() const { return last - latest.size(); }
};

struct Sweep {
  SweepId id;
  v1::SweepSpec spec;
  ResourceRequest request;  // Its spec's, as the next.
  std::shared_ptr<const MeasurementList> measurements;
  SweepSubmission submission;
  std::string owner;  // The caller that submitted it; empty: callers were not checked.
  v1::SweepState state = v1::ACTIVE;
  bool paused = false;
  SweepOrder order;
  std::uint64_t revision = 1;
  std::uint64_t version = 0;  // Grows with everything that a watcher can see.
  Timestamp began;            // When it was submitted, also where that was before a restart.
  std::optional<WallTime> ended;
  SweepExpansion expansion;
  std::vector<TrialId> trials;  // Without those withdrawn.
  std::uint64_t known = 0;      // Of `trials`: Trial::known.
  std::uint64_t withdrawn = 0;
  std::array<std::uint64_t, v1::TrialState_ARRAYSIZE> counts{};  // Of the trials made so far, by state.
  StageTally train;
  StageTally evaluate;
  SweepData bound;
  SweepTime time;
  SweepPruning pruning;
  SweepValues values;  // Since this process started.
  SweepNotices notice_log;

  void SetSpec(v1::SweepSpec made) {
    request = RequestOf(made.resources());
    measurements = MeasurementList::Of(made);
    spec = std::move(made);
    if (spec.has_program()) spec.mutable_program()->clear_source();  // The store keeps it.
  }
  std::uint64_t Count(v1::TrialState of) const { return counts[static_cast<std::size_t>(of)]; }
  std::uint64_t& CountOf(v1::TrialState of) { return counts[static_cast<std::size_t>(of)]; }
  std::uint64_t Open() const { return Count(v1::PENDING) + Count(v1::RUNNING); }
  StageTally& TallyOf(const Stage& stage) { return stage.kind == v1::TRAIN_STAGE ? train : evaluate; }
  bool Exhausted() const { return expansion.next_point >= expansion.points; }
  // Trials it has when fully expanded.
  std::uint64_t Total() const { return Exhausted() ? trials.size() : expansion.kept; }
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_H_
