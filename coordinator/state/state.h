// The coordinator's state in memory: passive tables, changed by the functions of scheduling/, attempts/ and
// sweeps/ only.
//
// Thread safety: none of it and its tables; they live on the coordinator's thread.
#ifndef INLIER_COORDINATOR_STATE_STATE_H_
#define INLIER_COORDINATOR_STATE_STATE_H_

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "coordinator/state/attempt.h"
#include "coordinator/state/counters.h"
#include "coordinator/state/data_table.h"
#include "coordinator/state/id_table.h"
#include "coordinator/state/lease_table.h"
#include "coordinator/state/options.h"
#include "coordinator/state/ready_queue.h"
#include "coordinator/state/request_log.h"
#include "coordinator/state/stage_table.h"
#include "coordinator/state/sweeps/sweep_table.h"
#include "coordinator/state/trial.h"
#include "coordinator/state/usage_meter.h"
#include "coordinator/state/waiting.h"
#include "coordinator/state/worker_registry.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"

namespace inlier {

// The GPU time of an owner that may use only so much.
struct OwnerBudget {
  UsageMeter used;
  double limit_seconds = 0;
  bool spent = false;            // None of its attempts is started.
  std::optional<Timestamp> due;  // When it is used.
};

// Workers in jobs of a cluster's engine. Of jobs that end: the time that stages need there (scheduling/job_ends.h).
struct ClusterJobs {
  std::set<std::string> drained;  // Their workers take nothing new.
  bool workers_come = false;      // A service outside the decisions brings workers where there is work.
  std::uint32_t longest = 0;      // Most seconds that such a worker had left; 0: none has connected.
  // Of sweeps, as measured: trainings up to their first step, evaluations as a whole.
  std::map<SweepId, std::uint32_t> train_seconds, evaluate_seconds;
  std::map<StageId, std::uint32_t> stage_seconds;  // Of stages that saved nothing in a job that ended.
};

// A model that the bucket has lost: workers are asked for a copy.
struct LostModel {
  Timestamp until;
  std::string finder;  // Worker that had no copy: once it succeeds with the model, the bucket has it again.
};

struct Models {
  absl::flat_hash_map<StageId, Trained> trained;  // Of train stages that have SUCCEEDED. Never walked.
  std::map<std::string, LostModel> lost;          // By SHA-256.
  std::set<StageId> freed;                        // Stages that are kFreed: they are emptied one by one.
  Timestamp empty_next;                           // The next of them.
};

struct State {
  explicit State(OrchestratorOptions options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const OrchestratorOptions options;
  SweepTable sweeps;
  std::set<SweepId> active;     // The ACTIVE ones.
  std::set<SweepId> expanding;  // Sweeps with points of which trials are still to be made.
  IdTable<TrialId, Trial> trials;
  StageTable stages;
  DataTable data;
  Models models;
  std::map<StageId, StageMemory> raised_memory;  // Of stages without a result that ran out of memory.
  std::map<Token, Attempt> attempts;             // Live ones.
  std::set<StageId> interrupted;                 // Train stages that wait to resume from a checkpoint.
  WorkerRegistry workers;
  LeaseTable leases;
  ReadyQueue ready;
  IdleWorkers idle;
  HolderWaits holder_waits;
  DataWaits data_waits;
  Deadlines deadlines;
  std::map<std::string, OwnerBudget> budgets;  // By owner; those that have a limit.
  StateCounts counts;
  RequestLog requests;  // All requests but submissions, which `sweeps` remembers.
  ClusterJobs jobs;
  OrchestratorStats stats;
  Token next_token = 1;
  std::uint64_t next_analysis = 1;  // Number of the next analysis.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_STATE_H_
