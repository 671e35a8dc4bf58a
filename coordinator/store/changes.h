// What the orchestrator tells the store: plain structs, collected in a ChangeBatch and applied in the order
// they were added.
//
// A batch is all or nothing. What comes from a worker (AttemptInfo, MeasurementRow, LogRow, CheckpointRow,
// AttemptPeak, AttemptEnded) carries its token and is applied only where that token's attempt is live;
// elsewhere it is dropped and counted as fenced. Everything else that breaks an invariant of the schema (a
// second live attempt, a terminal state that changes, an evaluate stage without its checkpoint) fails the
// batch: that is a programmer's error.
#ifndef INLIER_COORDINATOR_STORE_CHANGES_H_
#define INLIER_COORDINATOR_STORE_CHANGES_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// A stage has the states of a trial: PENDING, RUNNING, SUCCEEDED, DIVERGED, FAILED, CANCELLED.
using StageState = v1::TrialState;

// Attempts of a stage that failed, as RetrySpec counts them, since the stage was made or retried by a person.
struct StageFailures {
  std::uint32_t crashes = 0;        // CRASHED, TIMED_OUT, STALLED.
  std::uint32_t out_of_memory = 0;  // OUT_OF_MEMORY.
  std::uint32_t losses = 0;         // LOST, PREEMPTED.
  std::uint32_t invalid = 0;        // INVALID_SPEC.
  friend bool operator==(const StageFailures&, const StageFailures&) = default;
};

// What an attempt asks of a machine; a member that is zero does not say.
struct ResourceRequest {
  std::uint32_t gpu_thousandths = 0;  // Of one GPU; at most 1000.
  std::uint64_t memory_mib = 0;       // Of the machine.
  std::uint64_t gpu_memory_mib = 0;   // Of its GPU.
  friend auto operator<=>(const ResourceRequest&, const ResourceRequest&) = default;
};

// A sweep as submitted, ACTIVE. The row also remembers the request: the same request_id is never stored
// twice.
struct NewSweep {
  SweepId id{};
  v1::SweepSpec spec{};
  std::uint64_t points = 0;        // Size of the grid, with the points that `exclude` leaves out.
  std::uint64_t trials = 0;        // Trials it has when fully expanded.
  std::uint64_t trials_known = 0;  // What SubmitSweepResponse answered.
  std::string request_id{};        // Empty: none was given.
  std::string request_digest{};    // Digest of the request's content.
  WallTime at{};
};

// Absent members stay as they are. ended_at is set from `at` when `state` ends the sweep and cleared when it
// is ACTIVE again.
struct SweepChange {
  SweepId id{};
  std::optional<v1::SweepState> state{};
  std::optional<std::uint64_t> next_point{};  // Points of the grid expanded so far.
  WallTime at{};
  std::optional<bool> paused{};
};

// The sweep is another one from now on. Which trials it keeps is told by TrialMoved.
struct SweepEdited {
  SweepId id{};
  v1::SweepSpec spec{};
  std::uint64_t points = 0;
  std::uint64_t trials = 0;
  std::uint64_t next_point = 0;
  std::uint64_t revision = 1;
};

struct NewStage {
  StageId id{};
  v1::StageKind kind = v1::TRAIN_STAGE;
  std::string fingerprint{};             // Unique over all sweeps.
  std::optional<StageId> train_stage{};  // EVALUATE: whose checkpoint it needs.
  TrialId spec_of{};                     // Whose specification it runs: the trial it is made for.
  std::uint32_t steps = 0;               // Updates of the training; 0: it counts epochs.
};

struct NewTrial {
  TrialId id{};
  SweepId sweep{};
  std::uint64_t point = 0;  // Index in the sweep's grid; (sweep, point) is unique.
  // Axis name -> label of this trial's point, a JSON object. Every value is a string, as TrialStatus.labels
  // has them.
  std::string labels_json{};
  // Resolved, every field written, defaults too: the views read the columns from it. Whole, or without the
  // groups that the next field has.
  std::string spec_json{};
  std::vector<std::shared_ptr<const std::string>>
      spec_groups{};  // By kSpecGroups, or empty; null: not there.
  // The same TrialSpec serialised, for a coordinator that starts; may be empty, or without its groups.
  std::string spec_packed{};
  std::optional<StageId> train_stage{};
  std::optional<StageId> evaluate_stage{};
  v1::TrialState state = v1::PENDING;  // Terminal at once when its stages are known.
  std::string message{};
};

// The trial is another point of its sweep's grid, or, without one, no longer a part of the sweep (withdrawn).
// Points are unique within a sweep after every single change: trials that change places are withdrawn first.
struct TrialMoved {
  TrialId id{};
  std::optional<std::uint64_t> point{};
};

// SUCCEEDED and DIVERGED never change; FAILED and CANCELLED change only to PENDING (Retry).
struct TrialChange {
  TrialId id{};
  v1::TrialState state = v1::PENDING;
  std::string message{};  // Why it failed; empty otherwise.
};

// As TrialChange, with the retry counts. SUCCEEDED is set only by AttemptEnded; DIVERGED here is for an
// evaluate stage whose training diverged.
struct StageChange {
  StageId id{};
  StageState state = v1::PENDING;
  StageFailures failures{};
  std::string message{};
};

// A lease is granted: the attempt's row is made and the stage is RUNNING. REQUIRES: `token` is above every
// earlier one, the stage has no live attempt and is not SUCCEEDED or DIVERGED, and an EVALUATE stage's
// checkpoint is committed.
struct AttemptStarted {
  Token token = 0;
  StageId stage{};
  std::uint32_t number = 1;  // 1 for the stage's first attempt.
  std::string worker{};      // Incarnation.
  std::uint32_t slot = 0;
  std::uint64_t resume_step = 0;  // TRAIN: step of the checkpoint it is to go on from; 0 from scratch.
  WallTime at{};
  SweepId sweep{};  // Charged for it; zero: none.
};

// What it asked for, where it asked for anything. In the batch of its AttemptStarted, after it.
struct AttemptRequest {
  Token token = 0;
  ResourceRequest request{};
};

// The most memory that it held, as its worker measured; absent: not known. Before its AttemptEnded.
struct AttemptPeak {
  Token token = 0;
  std::optional<std::uint64_t> memory_mib{};
  std::optional<std::uint64_t> gpu_memory_mib{};
};

// What the stage's attempts need at least from now on, since one ran out of memory.
struct StageMemory {
  StageId id{};
  std::uint64_t memory_mib = 0;
  std::uint64_t gpu_memory_mib = 0;
};

// The attempt is told to write a checkpoint and stop; it stays live until it has.
struct AttemptYields {
  Token token = 0;
  std::string reason{};
};

// What the child said when it began: provenance, and the step it really resumed from.
struct AttemptInfo {
  Token token = 0;
  v1::Started started{};
  WallTime at{};
};

// The attempt is over. SUCCEEDED and DIVERGED make it the stage's one result, in the same statement: the
// stage takes that state, the token becomes its result_token, and a TRAIN stage that SUCCEEDED takes the
// digest of this token's final checkpoint (it fails without one). With FAILED and CANCELLED the stage stays
// RUNNING until a StageChange says what becomes of it.
struct AttemptEnded {
  Token token = 0;
  v1::TrialState outcome = v1::FAILED;        // SUCCEEDED, DIVERGED, FAILED or CANCELLED.
  std::optional<v1::FailureClass> failure{};  // With FAILED.
  std::string message{};
  WallTime at{};
};

// NaN is stored as NULL, infinities as themselves.
struct MeasurementRow {
  Token token = 0;
  std::string name{};
  std::uint64_t step = 0;
  double value = 0;
  std::string site{};  // Empty: of the whole model.
  bool final = false;  // A result of the stage, not a point of a curve.
  WallTime at{};
};

struct LogRow {
  Token token = 0;
  std::string text{};
  WallTime at{};
};

// A checkpoint complete on the worker's disk.
struct CheckpointRow {
  Token token = 0;
  std::uint64_t step = 0;
  std::string path{};  // Relative to the state folder.
  std::string sha256{};
  std::uint64_t bytes = 0;
  bool final = false;
  WallTime at{};
};

// What pruning said of a training at a rung. Applied where its token's attempt is live, like the measurement
// that it rests on, which is in the same batch.
struct PruningDecision {
  SweepId sweep{};
  StageId stage{};
  Token token = 0;
  std::uint64_t rung = 0;  // Step from which on the sweep's trainings are compared here.
  std::uint64_t step = 0;  // Of the value.
  double value = 0;        // NaN is stored as NULL.
  bool prune = false;
  std::uint64_t others = 0;           // Values that were there at this rung before.
  std::optional<double> threshold{};  // A worse value is pruned.
  WallTime at{};
};

enum class TrialPruningState {
  kNone,    // Not pruned.
  kPruned,  // CANCELLED by pruning.
  kKept,    // Was pruned, and a person asked for it all the same: not pruned any more.
};

// How a trial stands with pruning; kept apart from its state, for few trials are ever pruned.
struct TrialPruning {
  TrialId id{};
  TrialPruningState state = TrialPruningState::kPruned;  // Not kNone.
};

// State change or notice, for people. Zero or empty members: not about one.
struct EventRow {
  WallTime at{};
  std::string kind{};  // For example "lease_granted", "stage_retried", "worker_lost".
  SweepId sweep{};
  TrialId trial{};
  StageId stage{};
  Token token = 0;
  std::string worker{};
  std::string message{};
  std::uint64_t notice = 0;  // Number among the notices of the sweep; 0: no notice.
};

// A worker process, made or brought up to date by its incarnation. acknowledged_sequence is not touched.
struct WorkerRow {
  std::string incarnation{};
  std::string name{};
  std::string host{};
  std::string version{};
  std::uint32_t slots = 0;
  std::vector<std::string> devices{};  // One for each slot.
  bool draining = false;
  bool connected = true;
  WallTime last_seen{};
  bool held = false;  // A person drains it.
};

// What a worker has, beside its slots. After its WorkerRow; constant for an incarnation.
struct WorkerCapacity {
  std::string incarnation{};
  std::uint64_t memory_mib = 0;                    // 0: not known.
  std::vector<std::uint64_t> device_memory_mib{};  // One for each slot; 0: not known.
};

// What was asked for under a request_id, and answered. REQUIRES: `number` is above every earlier one; those
// that are kRequestsKept below it are forgotten.
struct RequestRow {
  std::uint64_t number = 0;
  std::string id{};
  std::string method{};
  std::string digest{};
  std::string answer{};
  WallTime at{};
};
inline constexpr std::uint64_t kRequestsKept = 10'000;

// Events of this incarnation up to `sequence` are in this batch or in earlier ones. Never goes back.
struct WorkerAcknowledged {
  std::string incarnation{};
  std::uint64_t sequence = 0;
};

using Change =
    std::variant<NewSweep, SweepChange, SweepEdited, NewStage, NewTrial, TrialMoved, TrialChange, StageChange,
                 AttemptStarted, AttemptYields, AttemptInfo, AttemptEnded, MeasurementRow, LogRow,
                 CheckpointRow, EventRow, WorkerRow, WorkerAcknowledged, RequestRow, PruningDecision,
                 TrialPruning, AttemptRequest, AttemptPeak, StageMemory, WorkerCapacity>;

// How many of `changes`, from the first on, are of these kinds.
template <typename... Kinds>
std::size_t RunOf(std::span<const Change> changes) {
  const auto end = std::find_if_not(changes.begin(), changes.end(), [](const Change& change) {
    return (std::holds_alternative<Kinds>(change) || ...);
  });
  return static_cast<std::size_t>(end - changes.begin());
}

// Which queue of the committer a batch waits in.
enum class Lane {
  kControl,  // Leases, results, submissions: first.
  kBulk,     // Only MeasurementRow, LogRow, EventRow and WorkerAcknowledged: may wait, and may be refused.
};

struct ChangeBatch {
  Lane lane = Lane::kControl;
  std::vector<Change> changes{};

  template <typename T>
  void Add(T change) {
    changes.emplace_back(std::in_place_type<T>, std::move(change));
  }
  bool empty() const { return changes.empty(); }
  std::size_t rows() const { return changes.size(); }
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_CHANGES_H_
