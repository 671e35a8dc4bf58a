// All that the orchestrator needs to go on after a restart, as the store remembers it.
#ifndef INLIER_COORDINATOR_STORE_SNAPSHOT_H_
#define INLIER_COORDINATOR_STORE_SNAPSHOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

struct SweepRecord {
  SweepId id{};
  v1::SweepSpec spec{};
  v1::SweepState state = v1::ACTIVE;
  std::uint64_t points = 0;
  std::uint64_t trials = 0;
  std::uint64_t trials_told = 0;  // What the submission was answered.
  std::uint64_t trials_known = 0;
  std::uint64_t next_point = 0;
  std::string request_id{};
  std::string request_digest{};
  WallTime submitted_at{};
  std::optional<WallTime> ended_at{};
  bool paused = false;
  std::uint64_t revision = 1;
  std::uint64_t notices = 0;  // Number of its latest notice.
};

// Every stage ever made: fingerprints are known for ever.
struct StageRecord {
  StageId id{};
  v1::StageKind kind = v1::TRAIN_STAGE;
  std::string fingerprint{};
  std::optional<StageId> train_stage{};
  StageState state = v1::PENDING;
  StageFailures failures{};
  std::uint32_t attempts = 0;  // Attempts so far, over all retries.
  Token result_token = 0;      // Of the attempt that produced the result; 0: no result.
  std::string checkpoint{};    // TRAIN, SUCCEEDED: digest of the trained model.
  std::string message{};
  // What it runs, one of them; both empty for stages that are SUCCEEDED or DIVERGED.
  std::string spec{};               // A serialised TrialSpec.
  std::string spec_json{};          // Where the store has no other.
  std::uint64_t trained_steps = 0;  // TRAIN, SUCCEEDED: step of its final checkpoint.
  std::uint64_t memory_mib = 0;     // As in StageMemory.
  std::uint64_t gpu_memory_mib = 0;
};

// Every trial ever made.
struct TrialRecord {
  TrialId id{};
  SweepId sweep{};
  std::optional<std::uint64_t> point{};  // Absent: withdrawn by an edit of the sweep.
  std::optional<StageId> train_stage{};
  std::optional<StageId> evaluate_stage{};
  v1::TrialState state = v1::PENDING;
  std::string labels_json{};  // Empty for trials that are SUCCEEDED or DIVERGED.
  std::string message{};      // As above.
};

// An attempt that has not ended: to be adopted when its worker comes back, or given up.
struct LiveAttempt {
  Token token = 0;
  StageId stage{};
  std::uint32_t number = 1;
  std::string worker{};
  std::uint32_t slot = 0;
  std::uint64_t resume_step = 0;
  WallTime started_at{};
  SweepId sweep{};                 // Charged for it; zero: not known.
  std::string yields{};            // Why it was told to write a checkpoint and stop; empty: it was not.
  std::string final_checkpoint{};  // Digest of the trained model, once it is stored; its outcome is not yet.
  std::uint64_t final_step = 0;
  ResourceRequest request{};
};

// A committed checkpoint to resume from.
struct CheckpointRecord {
  StageId stage{};
  Token token = 0;  // The attempt that wrote it.
  std::uint64_t step = 0;
  std::string path{};
  std::string sha256{};
  std::uint64_t bytes = 0;
};

struct WorkerRecord {
  std::string incarnation{};
  std::string name{};
  std::string host{};
  std::string version{};
  std::uint32_t slots = 0;
  std::vector<std::string> devices{};
  bool draining = false;
  bool connected = false;
  WallTime last_seen{};
  std::uint64_t acknowledged_sequence = 0;
  bool held = false;
  std::uint64_t memory_mib = 0;  // As in WorkerCapacity.
  std::vector<std::uint64_t> device_memory_mib{};
};

struct Snapshot {
  std::vector<SweepRecord> sweeps{};  // All vectors by id, oldest first.
  std::vector<StageRecord> stages{};
  std::vector<TrialRecord> trials{};
  std::vector<LiveAttempt> live_attempts{};
  // Of each TRAIN stage without a result that has one: the checkpoint of the highest step (the latest written
  // of those) that the next attempt can resume from; a final one holds no optimizer state.
  std::vector<CheckpointRecord> checkpoints{};
  std::vector<WorkerRecord> workers{};
  std::vector<PruningDecision> pruning_decisions{};  // In the order in which they were committed.
  std::vector<TrialPruning> trial_prunings{};        // By trial.
  std::vector<RequestRow> requests{};
  SweepId next_sweep{1};
  TrialId next_trial{1};
  StageId next_stage{1};
  Token next_token = 1;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SNAPSHOT_H_
