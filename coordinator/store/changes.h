// Changes that the orchestrator asks the store to write: rows and changes of rows, collected in a ChangeBatch
// and applied in the order they were added. A SweepRow, StageRow, TrialRow or AttemptRow is inserted.
//
// A batch is all or nothing. A change from a worker (AttemptInfo, MeasurementRow, LogRow, CheckpointRow,
// AttemptPeak, AttemptEnded) carries its token; where that token's attempt is not live it is dropped and
// counted as fenced. Any other breach of an invariant of the schema (a second live attempt, a terminal state
// that changes, an evaluate stage without its checkpoint) is a programmer's error and fails the batch.
//
// REQUIRES of an AttemptRow: its token is above every earlier one, the stage has no live attempt and is not
// SUCCEEDED or DIVERGED, and an EVALUATE stage's checkpoint is committed.
#ifndef INLIER_COORDINATOR_STORE_CHANGES_H_
#define INLIER_COORDINATOR_STORE_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/sql_value.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

// Absent members stay as they are. ended_at is set from `at` when `state` ends the sweep and cleared when it
// is ACTIVE again.
struct SweepChange {
  SweepId id{};
  std::optional<v1::SweepState> state{};
  std::optional<std::uint64_t> next_point{};  // Points of the grid expanded so far.
  WallTime at{};
  std::optional<bool> paused{};
  std::optional<std::uint64_t> trials{};  // Number of trials when fully expanded.
};

// The sweep gets this name, and what people see of it besides.
struct SweepLabelled {
  SweepId id{};
  std::string name{};
  SweepOrder order{};
};

// The stage has ended, and this is left of it. kEmpty: with the change its measurements and log lines go, where they are many
// by and by (Store::Thin).
struct StageGone {
  StageId id{};
  StageFate fate = StageFate::kFreed;
};

// The numbers of an imported run, and with them the results of its stages, which are in the batch before it. They are held by
// two rows of attempt that no worker has: `token` of the training, the next one of the evaluation.
struct RunImported {
  SweepId sweep{};
  StageId train{};
  StageId evaluate{};
  Token token = 0;
  WallTime at{};
  std::vector<MeasurementRow> numbers{};  // All with `token`.
};

// A user edited the sweep. TrialMoved follows for each trial that it keeps.
struct SweepEdited {
  SweepId id{};
  v1::SweepSpec spec{};
  std::uint64_t points = 0;
  std::uint64_t trials = 0;
  std::uint64_t next_point = 0;
  std::uint64_t revision = 1;
};

// The trial becomes another point of its sweep's grid, or, without one, is withdrawn from the sweep. Points
// are unique within a sweep after every single change: trials that change places are withdrawn first.
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
  std::int64_t ran_ms = 0;  // Time of its ended attempts since it was made or a user retried it.
  std::string message{};
};

// The data of a training are known, or found to be needed.
struct StageData {
  StageId id{};
  DataId data{};
};

// The token names something that is not stored: no later one may be the same.
struct TokenTaken {
  Token token = 0;
};

// The peak memory of an attempt, as its worker measured; absent: not known. Before its AttemptEnded.
struct AttemptPeak {
  Token token = 0;
  std::optional<std::uint64_t> memory_mib{};
  std::optional<std::uint64_t> gpu_memory_mib{};
};

// The least that the stage's attempts need from now on, since one ran out of memory.
struct StageMemory {
  StageId id{};
  std::uint64_t memory_mib = 0;
  std::uint64_t gpu_memory_mib = 0;
};

// The attempt is asked to write a checkpoint and stop; it stays live until it has.
struct AttemptYields {
  Token token = 0;
  std::string reason{};
  bool timed_out = false;  // Its time is over: it ends as TIMED_OUT.
};

// The child's report at its start: provenance, and the step from which it resumed.
struct AttemptInfo {
  Token token = 0;
  v1::Started started{};
  WallTime at{};
};

// The attempt is over. SUCCEEDED and DIVERGED make it the stage's one result, in the same statement: the
// stage takes that state, the token becomes its result_token, and a TRAIN stage that SUCCEEDED takes the
// digest of this token's final checkpoint (it fails without one). With FAILED and CANCELLED the stage stays
// RUNNING until a StageChange.
struct AttemptEnded {
  Token token = 0;
  // SUCCEEDED, DIVERGED, FAILED or CANCELLED; FAILED for PREEMPTED is stored as PREEMPTED.
  v1::TrialState outcome = v1::FAILED;
  std::optional<v1::FailureClass> failure{};  // With FAILED.
  std::string message{};
  WallTime at{};
};

// Events of this incarnation up to `sequence` are in this batch or in earlier ones. Never goes back.
struct WorkerAcknowledged {
  std::string incarnation{};
  std::uint64_t sequence = 0;
};

// The worker is gone for good and never had an attempt: no row refers to it.
struct WorkerForgotten {
  std::string incarnation{};
};

// A statement of the fleet or the notifications, on a table that only they write.
struct ServiceStatement {
  const char* sql = "";  // A literal, with ?1, ?2, …
  std::vector<SqlValue> values{};
};

using Change =
    std::variant<SweepRow, SweepChange, SweepEdited, StageRow, TrialRow, TrialMoved, TrialChange, StageChange,
                 AttemptRow, AttemptYields, AttemptInfo, AttemptEnded, MeasurementRow, LogRow, CheckpointRow,
                 EventRow, WorkerRow, WorkerAcknowledged, WorkerForgotten, RequestRow, PruningDecision,
                 SearchPointRow, TrialPruning, AttemptPeak, StageMemory, AuditRow, DataRow, StageData,
                 TokenTaken, ServiceStatement, SweepUsage, AnalysisRow, SweepLabelled, StageGone, RunImported>;

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
