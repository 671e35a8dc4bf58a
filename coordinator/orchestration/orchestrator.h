// All decisions of the coordinator: what is to be run, by whom, and what becomes of it.
//
// A passive core. Every call is told the time, changes the state in memory, and says in Effects what is to be
// committed. The shell commits it and only then lets out the reply: that makes "acknowledged" mean "durable".
// Nothing here has a clock, timer, thread, lock, socket or SQL, and nothing depends on the order of a hash
// table, so the daemon and a simulation run the same code and a seed gives the same history.
//
// Invariants (CheckInvariants re-derives them; numbers are those of docs/ARCHITECTURE.md):
//  (1) a stage has at most one live token;             (2) a stage has at most one result;
//  (4) nothing with a stale token changes anything;    (5) results never change;
//  (6) slots and max_parallel are never exceeded;      (7) attempts stay within the retry policy;
//  (8) an evaluate stage is leased only when its training has SUCCEEDED with a checkpoint;
//  and a stage is PENDING or RUNNING only while some trial needs it.
//
// Thread safety: none; lives on the coordinator's thread.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_ORCHESTRATOR_H_
#define INLIER_COORDINATOR_ORCHESTRATION_ORCHESTRATOR_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/orchestration/lease_table.h"
#include "coordinator/orchestration/model.h"
#include "coordinator/orchestration/scheduler.h"
#include "coordinator/orchestration/worker_registry.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/snapshot.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

struct OrchestratorOptions {
  std::string version;  // Workers must have the same.
  Duration lease_ttl = std::chrono::seconds(15);
  Duration lease_margin = std::chrono::seconds(1);
  Duration stall = std::chrono::seconds(600);
  std::uint64_t materialised_trials_max = 100'000;  // Trials that have not ended, over all sweeps.
  std::uint64_t expand_at_submit = 1024;            // Trials made while a submission is answered.
  std::uint64_t expand_per_tick = 128;              // Trials made in one later step.
  std::uint64_t expand_ahead = 1024;                // Trials of a sweep that are kept ready.

  static OrchestratorOptions FromConfig(const v1::CoordinatorConfig& config, const std::string& version);
};

// What a call asks of the shell, beside its reply.
struct Effects {
  ChangeBatch changes;                         // To be committed before the reply leaves.
  std::set<std::string> workers;               // Incarnations whose next replies tell of these changes.
  std::vector<std::string> log;                // One line each, at INFO.
  std::vector<double> lease_wait_seconds;      // For each lease granted: from ready to leased.
  std::vector<double> train_steps_per_second;  // For each train attempt that reported a result.
};

// Counted since the process began; each becomes a counter of /metrics.
struct OrchestratorStats {
  std::array<std::uint64_t, 2> attempts_started{};               // By kind: train, evaluate.
  std::array<std::array<std::uint64_t, 4>, 2> attempts_ended{};  // By kind and outcome: see kOutcomeNames.
  std::map<v1::FailureClass, std::uint64_t> failures;
  std::uint64_t events_received = 0;
  std::uint64_t events_doubled = 0;
  std::uint64_t events_stale = 0;
  std::uint64_t events_invalid = 0;
  std::uint64_t events_thinned = 0;
  std::uint64_t measurements = 0;
  std::uint64_t leases_expired = 0;
  std::uint64_t attempts_adopted = 0;
  std::uint64_t retries = 0;
  std::uint64_t syncs_refused = 0;
  std::uint64_t trials_known = 0;
  std::uint64_t sweeps_submitted = 0;

  static constexpr std::array<const char*, 4> kOutcomeNames = {"succeeded", "diverged", "failed",
                                                               "cancelled"};
};

class Orchestrator {
 public:
  explicit Orchestrator(OrchestratorOptions options);

  // Takes over what the store remembers: once, first. Live attempts get leases with a full term, to be
  // claimed by their workers.
  absl::Status Recover(Snapshot snapshot, Moment now, Effects& effects);

  // Stores a sweep and makes its first trials. REQUIRES: ValidateSweep(request.sweep()) is OK (the shell
  // checks it before, away from the coordinator's thread). The same request_id and content gives the same
  // answer; AlreadyExists with other content; FailedPrecondition when the sweep has more trials than
  // request.max_trials.
  absl::StatusOr<v1::SubmitSweepResponse> OnSubmit(const v1::SubmitSweepRequest& request, Moment now,
                                                   Effects& effects);

  // How much of a sync to take; the shell holds back what the store cannot take now.
  struct SyncLimits {
    bool take_events = true;
    bool grant_leases = true;
  };
  // A worker's sync. FailedPrecondition for another version; InvalidArgument for a sync that makes no sense.
  absl::StatusOr<v1::CoordinatorSync> OnSync(const v1::WorkerSync& sync, Moment now, SyncLimits limits,
                                             Effects& effects);
  absl::StatusOr<v1::CoordinatorSync> OnSync(const v1::WorkerSync& sync, Moment now, Effects& effects) {
    return OnSync(sync, now, SyncLimits(), effects);
  }

  absl::StatusOr<v1::CancelResponse> OnCancel(const v1::CancelRequest& request, Moment now, Effects& effects);
  absl::StatusOr<v1::RetryResponse> OnRetry(const v1::RetryRequest& request, Moment now, Effects& effects);

  // What time brings: ended leases, silent workers, stalled attempts, retries that are due, further trials.
  // Does a bounded amount; when there is more, NextDeadline() is not later than `now`.
  void Tick(Moment now, Effects& effects);
  std::optional<Timestamp> NextDeadline() const;

  // What people see. NotFound names what comes close.
  absl::StatusOr<SweepId> FindSweep(const std::string& id_or_name) const;
  v1::SweepStatus Status(SweepId sweep, bool with_spec) const;
  // The present state, with the notices from number `notices_from` on, which becomes the number of the next
  // one.
  v1::SweepUpdate Describe(SweepId sweep, Moment now, std::uint64_t& notices_from) const;
  // Grows with everything that Describe tells.
  std::uint64_t VersionOf(SweepId sweep) const { return sweeps_.at(sweep).version; }
  std::uint64_t NoticesEnd(SweepId sweep) const { return sweeps_.at(sweep).notices_end; }
  // It has ended and nothing of it runs.
  bool IsOver(SweepId sweep) const;
  v1::ListSweepsResponse ListSweeps() const;  // Newest first.
  v1::ListWorkersResponse ListWorkers() const;

  // For metrics.
  const OrchestratorStats& stats() const { return stats_; }
  // Stages by kind (train, evaluate) and state.
  const std::map<std::pair<v1::StageKind, v1::TrialState>, std::int64_t>& stage_counts() const {
    return stage_counts_;
  }
  const std::map<v1::TrialState, std::int64_t>& trial_counts() const { return trial_counts_; }
  const std::map<v1::SweepState, std::int64_t>& sweep_counts() const { return sweep_counts_; }
  const WorkerRegistry& workers() const { return workers_; }
  std::uint64_t leases() const { return static_cast<std::uint64_t>(leases_.size()); }
  Duration silence_term() const { return options_.lease_ttl + options_.lease_margin; }

  // Re-derives what must hold and ends the process where it does not. For tests and simulation: reads
  // everything.
  void CheckInvariants() const;
  // The durable part of the state in a fixed form, one line an entity: equal to that of an orchestrator
  // recovered from the store.
  std::string DurableState() const;

 private:
  struct Context {  // Of one call.
    Moment now;
    Effects& out;
    std::set<SweepId> settle = {};  // Sweeps whose trials have ended; looked at when the call is done.
  };

  // recover.cc.
  void RecoverSweep(SweepRecord record);
  absl::Status RecoverStage(StageRecord record);
  void RecoverTrial(TrialRecord record);
  void RecoverWorker(WorkerRecord record, Moment now);
  void RecoverAttempt(const LiveAttempt& record, Context& context);

  // orchestrator.cc: submission, expansion, cancel, retry.
  // Ends every call: what follows for the sweeps.
  void Finish(Context& context);
  absl::Status MakeExpander(Sweep& sweep);
  void AddSweepToScheduler(const Sweep& sweep);
  bool WantsTrials(const Sweep& sweep) const;
  // Makes up to `limit` further trials; returns how many were complete at once.
  std::uint64_t Expand(Context& context, Sweep& sweep, std::uint64_t limit);
  void Materialise(Context& context, Sweep& sweep, ExpandedTrial expanded);
  StageId FindOrAddStage(Context& context, v1::StageKind kind, const std::string& fingerprint,
                         const ExpandedTrial& trial, StageId train);
  void RegisterStage(Stage& stage, Sweep& sweep, double weight);
  void CancelTrial(Context& context, Trial& trial, const std::string& why);
  bool RetryTrial(Context& context, Trial& trial);
  absl::StatusOr<TrialId> FindTrial(const std::string& id) const;

  // transitions.cc: what follows from what.
  // Where a trial stands, from its stages; reopens failed ones where `reopen` says so.
  v1::TrialState Link(Context& context, Trial& trial, bool reopen_train, bool reopen_evaluate,
                      std::string& message);
  void Reopen(Context& context, Stage& stage);
  void Need(Stage& stage, Trial& trial);
  void NoLongerNeed(Context& context, Stage& stage, const Trial& trial);
  // Ends a stage that is open though no trial needs it.
  void CancelIfUnneeded(Context& context, Stage& stage);
  void ForgetRetry(Stage& stage);
  void SetTrialState(Context& context, Trial& trial, v1::TrialState state, const std::string& message);
  void CountTrial(Sweep& sweep, std::optional<v1::TrialState> from, v1::TrialState to);
  void SetSweepState(Context& context, Sweep& sweep, v1::SweepState state);
  void SetStageState(Stage& stage, v1::TrialState state);
  void CommitStage(Context& context, const Stage& stage);
  void UpdateTrialsOf(Context& context, Stage& stage);
  bool IsReady(const Stage& stage) const;
  void RefreshReadiness(Context& context, Stage& stage);
  void Settle(Context& context, Sweep& sweep);
  void StopByFailures(Context& context, Sweep& sweep);
  // Tells those who watch the sweep, and keeps it as an event.
  void Notice(Context& context, Sweep& sweep, const std::string& kind, const std::string& text,
              EventRow about = {});
  // The same for every sweep that needs the stage; the text begins with the stage's name for people.
  void NoticeOfStage(Context& context, const Stage& stage, const std::string& kind, const std::string& text,
                     Token token);
  void Touch(const Stage& stage);  // Those who watch a sweep of this stage have something to see.

  // attempts.cc: leases, events, ends.
  void Grant(Context& context, WorkerEntry& worker, std::uint32_t slot, Scheduler::Pick pick);
  void EndAttempt(Context& context, Token token, v1::TrialState outcome,
                  std::optional<v1::FailureClass> failure, const std::string& message,
                  const std::string& stop_reason);
  void StageSucceeded(Context& context, Stage& stage, const Attempt& attempt);
  void StageDiverged(Context& context, Stage& stage);
  void AttemptFailed(Context& context, Stage& stage, const Attempt& attempt, v1::FailureClass failure,
                     const std::string& message);
  void FailStage(Context& context, Stage& stage, const std::string& message);
  v1::RetrySpec PolicyOf(const Stage& stage) const;
  void NoteProgress(Context& context, Attempt& attempt);

  // sync.cc: the protocol.
  absl::Status CheckSync(const v1::WorkerSync& sync);
  void UpdateWorker(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync, bool is_new);
  void CommitWorker(Context& context, const WorkerEntry& worker);
  void TakeReports(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);
  void TakeEvents(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);
  void TakeEvent(Context& context, const WorkerEntry& worker, const v1::NumberedEvent& event);
  void TakeCheckpoint(Context& context, Attempt& attempt, const v1::CheckpointSaved& saved, WallTime at);
  void TakeOutcome(Context& context, Attempt& attempt, const v1::Outcome& outcome);
  void FillSlots(Context& context, WorkerEntry& worker);
  v1::CoordinatorSync Reply(const WorkerEntry& worker, const v1::WorkerSync& sync) const;

  StageTally& TallyOf(Sweep& sweep, const Stage& stage) {
    return stage.kind == v1::TRAIN_STAGE ? sweep.train : sweep.evaluate;
  }

  OrchestratorOptions options_;
  LeaseTable leases_;
  WorkerRegistry workers_;
  Scheduler scheduler_;
  OrchestratorStats stats_;

  std::map<SweepId, Sweep> sweeps_;
  std::unordered_map<TrialId, Trial> trials_;  // Looked up, never walked where it shows.
  std::unordered_map<StageId, Stage> stages_;
  std::unordered_map<std::string, StageId> stage_of_fingerprint_;
  std::map<std::string, SweepId> sweep_of_request_;
  std::map<Token, Attempt> attempts_;
  std::set<std::pair<Timestamp, Token>> by_progress_;    // (progressed, token) of live attempts.
  std::set<std::pair<Timestamp, StageId>> retries_due_;  // (not_before, stage).
  std::set<SweepId> expanding_;                          // Sweeps with an expander.
  std::map<std::pair<v1::StageKind, v1::TrialState>, std::int64_t> stage_counts_;
  std::map<v1::TrialState, std::int64_t> trial_counts_;
  std::map<v1::SweepState, std::int64_t> sweep_counts_;

  SweepId next_sweep_{1};
  TrialId next_trial_{1};
  StageId next_stage_{1};
  Token next_token_ = 1;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_ORCHESTRATOR_H_
