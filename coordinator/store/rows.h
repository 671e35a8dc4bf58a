// Rows of the database, one struct for each kind: what a change stores and what a start reads back.
#ifndef INLIER_COORDINATOR_STORE_ROWS_H_
#define INLIER_COORDINATOR_STORE_ROWS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/time.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// A stage has the states of a trial: PENDING, RUNNING, SUCCEEDED, DIVERGED, FAILED, CANCELLED.
using StageState = v1::TrialState;

inline bool IsTerminal(v1::TrialState state) { return state != v1::PENDING && state != v1::RUNNING; }
// True for SUCCEEDED and DIVERGED, which never change again, not even by a retry.
inline bool IsResult(v1::TrialState state) { return state == v1::SUCCEEDED || state == v1::DIVERGED; }

// Failed attempts of a stage, as RetrySpec counts them, since it was made or a user retried it.
struct StageFailures {
  std::uint32_t crashes = 0;        // CRASHED, TIMED_OUT, STALLED.
  std::uint32_t out_of_memory = 0;  // OUT_OF_MEMORY.
  std::uint32_t losses = 0;         // LOST, PREEMPTED, SICK_DEVICE.
  std::uint32_t invalid = 0;        // INVALID_SPEC. OTHER_DATA concerns the worker and is not counted.
  friend bool operator==(const StageFailures&, const StageFailures&) = default;
};

// Resources that each process of an attempt asks for; a zero member: not given.
struct ResourceRequest {
  std::uint32_t gpu_thousandths = 0;  // Share of one GPU; at most 1000.
  std::uint64_t memory_mib = 0;       // Memory of the machine.
  std::uint64_t gpu_memory_mib = 0;
  std::uint32_t processes = 1;  // More: a gang, with a slot each on one worker.
  // The rest is for placing only, and not stored. A worker that is known to have another version of the
  // source does not fit.
  DataId data_source{};
  DataId data{};
  std::uint32_t seconds = 0;  // Needed where its worker's job ends (scheduling/job_ends.h).
  friend auto operator<=>(const ResourceRequest&, const ResourceRequest&) = default;
};

// The resources that the attempts at the stages of a sweep used up to `at`.
struct SweepUsage {
  SweepId id{};
  std::int64_t attempt_ms = 0;
  std::int64_t gpu_ms = 0;          // Time multiplied by the share of a GPU that each has.
  std::int64_t charged_gpu_ms = 0;  // gpu_ms of the ended attempts that are charged to it.
  std::uint64_t log_lines = 0;      // Lines kept of attempts that are charged to it.
  WallTime at{};
};

// What people see of a sweep besides its specification.
struct SweepOrder {
  bool archived = false;
  std::vector<std::string> tags{};  // In their order.
  std::string note{};               // Markdown.
  std::optional<WallTime> removed{};
  bool freed = false;  // Removed, and what only it needed is gone for good.
  friend bool operator==(const SweepOrder&, const SweepOrder&) = default;
};

// What is left of a stage that has ended.
enum class StageFate {
  kWhole,
  kNoModel,  // A training with its measurements, whose model a rule of the collection let go.
  kFreed,    // Only sweeps that are gone needed it: no trial gets it any more.
  kEmpty,    // The same, and its measurements and log lines are deleted.
};

struct SweepRow {
  SweepId id{};
  v1::SweepSpec spec{};
  v1::SweepState state = v1::ACTIVE;
  std::uint64_t points = 0;            // Size of the grid, with the points that `exclude` leaves out.
  std::uint64_t trials = 0;            // Number of trials when fully expanded.
  std::uint64_t trials_at_submit = 0;  // In the answer to the submission, as trials_known.
  std::uint64_t trials_known = 0;
  std::uint64_t next_point = 0;  // Points of the grid expanded so far.
  std::string request_id{};      // Unique; empty: none was given.
  std::string request_digest{};  // Digest of the request's content.
  std::string owner{};           // Name of the caller that submitted it; empty: callers were not checked.
  WallTime submitted_at{};
  std::optional<WallTime> ended_at{};
  bool paused = false;
  bool again = false;  // Also runs what has a result.
  std::uint64_t revision = 1;
  std::uint64_t notices = 0;  // Number of its latest notice; derived from the events.
  SweepOrder order{};         // Not inserted: a new sweep has none.
  SweepUsage usage{};         // A row of its own; not stored yet: zero, with `at` the submission.
};

// Files that trainings read. A row without a digest: as their specifications name them; one with a digest: as
// workers found them.
struct DataRow {
  DataId id{};
  std::string names{};             // DataSource of a TrialSpec (spec/trial/data_source.h).
  std::optional<Digest> digest{};  // All zero: its attempts reported none.
  std::string worker{};            // Name of the worker that reported it last.
  WallTime at{};
};

struct StageRow {
  StageId id{};
  v1::StageKind kind = v1::TRAIN_STAGE;
  Digest fingerprint{};     // Unique over all sweeps.
  StageId train_stage{};    // EVALUATE: the training whose checkpoint it needs; TRAIN: zero.
  std::uint32_t steps = 0;  // Updates of the training; 0: it counts epochs.
  DataId
      data{};  // Without a digest while no attempt has reported one; zero: an evaluation on its training's data.
  StageId start_stage{};  // TRAIN: the training that it starts from; zero: none of this coordinator.
  StageId previous{};     // The stage that ran the same before; not read back.
  StageState state = v1::PENDING;
  StageFate fate = StageFate::kWhole;
  std::optional<Digest> checkpoint{};  // TRAIN, SUCCEEDED: the trained model.
  // Its part of the resolved TrialSpec (canonical.h) with every field, for the views. Read back while the
  // stage, or an evaluation of the training, lacks a result.
  std::string spec_json{};
  // The rest is read back only of stages without a result.
  StageFailures failures{};
  std::int64_t ran_ms = 0;     // As in StageChange.
  std::uint32_t attempts = 0;  // So far, over all retries; derived from the attempts.
  std::string message{};
  std::uint64_t memory_mib = 0;  // As in StageMemory.
  std::uint64_t gpu_memory_mib = 0;
};

struct TrialRow {
  TrialId id{};
  SweepId sweep{};
  std::optional<std::uint64_t> point{};  // Unique index in the sweep's grid; absent: withdrawn by an edit.
  StageId train_stage{};                 // Both zero for an invalid trial.
  StageId evaluate_stage{};
  v1::TrialState state = v1::PENDING;  // Terminal at once when its stages are known.
  bool known = false;                  // It had its result when it was made.
  // The rest is read back only of trials without a result; spec_json never.
  std::string message{};
  std::string
      labels_json{};  // Axis name -> label of its point, a JSON object of strings, as in TrialStatus.labels.
  std::string spec_json{};  // The TrialSpec of an invalid trial; empty where it has stages.
};

// Read back until it ends: it is adopted when its worker comes back, or lost.
struct AttemptRow {
  Token token = 0;
  StageId stage{};
  std::uint32_t number = 1;  // 1 for the stage's first attempt.
  std::string worker{};      // Incarnation.
  std::uint32_t slot = 0;
  std::vector<std::uint32_t> further_slots{};  // Slots of a gang's ranks from 1 on.
  std::uint64_t resume_step = 0;  // TRAIN: step of the checkpoint to resume from; 0 from scratch.
  WallTime started_at{};
  SweepId sweep{};  // The sweep that it is charged to.
  ResourceRequest request{};
  std::uint32_t gpu_share_thousandths = 0;  // Share of GPUs that it has; 0: on a CPU.
  // Stored by later changes.
  std::string yields{};            // Why it was asked to write a checkpoint and stop; empty: it was not.
  bool timed_out = false;          // With `yields`: its time is over.
  std::string final_checkpoint{};  // Digest of the trained model, which is stored before the outcome.
  std::uint64_t final_step = 0;
};

// The next attempt at a training gets so many checkpoints, and uses the first that it can.
inline constexpr std::size_t kResumePointsMax = 3;

// A condition on `attempt` joined with `artifact`: a later attempt could not use the checkpoint that it was
// given, and began at another one than this.
inline constexpr char kWasPassedOver[] =
    "EXISTS (SELECT 1 FROM attempt AS later WHERE later.stage = attempt.stage "
    "AND later.token > attempt.token AND later.resumed_step < later.resume_step "
    "AND later.resumed_step <> artifact.step)";

// A checkpoint complete on the worker's disk. Those of the highest steps of each training without a result
// are read back, the latest written first, as points to resume from.
struct CheckpointRow {
  Token token = 0;
  std::uint64_t step = 0;
  std::string path{};  // Relative to the state folder; empty for a final one: its digest is its name.
  std::string sha256{};
  std::uint64_t bytes = 0;
  bool final = false;  // The trained model, without optimizer state.
  WallTime at{};
  StageId stage{};  // Derived from the token.
};

// NaN is stored as NULL, infinities as themselves.
struct MeasurementRow {
  Token token = 0;
  std::string name{};
  std::uint64_t step = 0;
  double value = 0;
  std::string site{};  // Empty: the whole model.
  bool final = false;  // A result of the stage, not a point of a curve.
  WallTime at{};
};

struct LogRow {
  Token token = 0;
  std::string text{};
  WallTime at{};
};

// A state change or notice for users; members that do not apply are zero or empty.
struct EventRow {
  WallTime at{};
  std::string kind{};  // For example "lease_granted", "stage_retried", "worker_lost".
  SweepId sweep{};
  TrialId trial{};
  StageId stage{};
  Token token = 0;
  std::string worker{};
  std::string message{};
  std::uint64_t notice = 0;  // Number among the notices of the sweep; 0: not a notice.
};

// A worker process; a row of the same incarnation is replaced.
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
  bool held = false;                               // A user drains it.
  std::uint64_t memory_mib = 0;                    // 0: not known.
  std::vector<std::uint64_t> device_memory_mib{};  // One for each slot, or empty; 0: not known.
  bool used = false;                               // It has had an attempt.
  std::uint64_t acknowledged_sequence = 0;         // Stored by WorkerAcknowledged.
};

// A point that a sampler asked for; those of a sweep are numbered from 0.
struct SearchPointRow {
  SweepId sweep{};
  std::uint32_t number = 0;
  v1::SearchPoint point{};
  WallTime at{};
};

// The verdict of pruning for a training at a rung. Applied where its token's attempt is live, like the
// measurement that it rests on, which is in the same batch.
struct PruningDecision {
  SweepId sweep{};
  StageId stage{};
  Token token = 0;
  std::uint32_t bracket = 1;  // Of asha.brackets.
  std::uint64_t rung = 0;     // Step from which on the trainings of the bracket are compared here.
  std::uint64_t step = 0;     // Step of the value.
  double value = 0;           // NaN is stored as NULL.
  bool prune = false;
  std::uint64_t others = 0;           // Values that were there at this rung of the bracket before.
  std::optional<double> threshold{};  // A worse value is pruned.
  WallTime at{};
};

enum class TrialPruningState {
  kNone,    // Not pruned.
  kPruned,  // CANCELLED by pruning.
  kKept,    // Was pruned and retried by a user: not pruned again.
};

struct TrialPruning {
  TrialId id{};
  TrialPruningState state = TrialPruningState::kPruned;  // Not kNone.
};

// A request with a request_id, and its answer. REQUIRES: `number` is above every earlier one. Requests that
// are kRequestsKept below it are deleted.
struct RequestRow {
  std::uint64_t number = 0;
  std::string id{};
  std::string method{};
  std::string digest{};
  std::string answer{};
  WallTime at{};
};
inline constexpr std::uint64_t kRequestsKept = 10'000;

// A user's measurements of a model.
struct AnalysisRow {
  AnalysisId id{};
  std::string model{};         // As the user named it.
  std::string model_sha256{};  // Empty: not known.
  std::string spec_json{};     // AnalysisSpec; empty: not known.
  std::string owner{};         // Name of the caller.
  WallTime at{};
  std::vector<v1::AnalysisNumber> numbers{};  // A value that is not finite is stored as NULL.
};

// A user's call that changed something, or was to; members that do not apply or are not known are zero or
// empty.
struct AuditRow {
  WallTime at{};
  std::string caller{};  // Name.
  std::string role{};
  std::string peer{};    // Address.
  std::string method{};  // For example Cancel.
  SweepId sweep{};
  TrialId trial{};
  std::string worker{};     // Incarnation.
  std::string outcome{};    // Name of the gRPC code.
  std::string message{};    // Why it was refused.
  std::string request{};    // Scalar fields of the request.
  std::string digest{};     // SHA-256 of the request.
  std::uint64_t calls = 1;  // Number of refused calls that it stands for.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_ROWS_H_
