// All that the orchestrator needs to go on after a restart, as the store remembers it.
#ifndef INLIER_COORDINATOR_STORE_SNAPSHOT_H_
#define INLIER_COORDINATOR_STORE_SNAPSHOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
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

// Every stage ever made: fingerprints are known for ever. Small, for a start reads hundreds of thousands.
struct StageRecord {
  StageId id{};
  v1::StageKind kind = v1::TRAIN_STAGE;
  StageState state = v1::PENDING;
  Digest fingerprint{};
  StageId train_stage{};    // EVALUATE: whose checkpoint it needs; zero: TRAIN.
  std::uint32_t steps = 0;  // Updates of the training; 0: it counts epochs, or is not known.
};

// Beside it, of each TRAIN stage that has SUCCEEDED: digest of the trained model.
struct TrainedRecord {
  StageId stage{};
  Digest checkpoint{};
};

// Beside it, of each stage without a result (neither SUCCEEDED nor DIVERGED).
struct UnfinishedStage {
  StageId stage{};
  StageFailures failures{};
  std::uint32_t attempts = 0;  // Attempts so far, over all retries.
  std::string message{};
  // What it runs. The trial whose specification it is; zero: none's. Stages of the same trial that follow
  // each other have it once: the first of them.
  TrialId spec_of{};
  std::string spec{};            // A serialised TrialSpec; empty: as the one before it, or `spec_json`.
  std::string spec_json{};       // Where the store has no other.
  std::uint64_t memory_mib = 0;  // As in StageMemory.
  std::uint64_t gpu_memory_mib = 0;
};

// Every trial ever made.
struct TrialRecord {
  TrialId id{};
  SweepId sweep{};
  std::optional<std::uint64_t> point{};  // Absent: withdrawn by an edit of the sweep.
  StageId train_stage{};                 // Both zero for a trial that is invalid.
  StageId evaluate_stage{};
  v1::TrialState state = v1::PENDING;
};

// Beside it, of each trial without a result.
struct UnfinishedTrial {
  TrialId trial{};
  std::string labels_json{};
  std::string message{};
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
  std::vector<TrainedRecord> trained{};
  std::vector<UnfinishedStage> unfinished_stages{};
  std::vector<TrialRecord> trials{};
  std::vector<UnfinishedTrial> unfinished_trials{};
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
