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
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/time.h"
#include "coordinator/orchestration/cold_memory.h"
#include "coordinator/orchestration/dense_table.h"
#include "coordinator/orchestration/fingerprint_index.h"
#include "coordinator/orchestration/lease_table.h"
#include "coordinator/orchestration/model.h"
#include "coordinator/orchestration/request_log.h"
#include "coordinator/orchestration/scheduler.h"
#include "coordinator/orchestration/spec_pool.h"
#include "coordinator/orchestration/sweep_table.h"
#include "coordinator/orchestration/worker_registry.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/snapshot.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/worker_service.pb.h"
#include "proto/spec/sweep_edit.h"

namespace inlier {

struct OrchestratorOptions {
  std::string version;  // Workers must have the same.
  Duration lease_ttl = std::chrono::seconds(15);
  Duration lease_margin = std::chrono::seconds(1);
  Duration stall = std::chrono::seconds(600);
  Duration locality_wait = std::chrono::seconds(2);  // Of a stage for the worker that has its checkpoint.
  std::uint64_t materialised_trials_max = 100'000;   // Trials that have not ended, over all sweeps.
  std::uint64_t expand_at_submit = 1024;   // A grid of at most so many points is made while it is submitted.
  std::uint64_t expand_first = 32;         // Trials of a larger one that are made then.
  std::uint64_t expand_per_tick = 256;     // Trials made in one later step at most: others wait for it.
  std::uint64_t expand_ahead = 1024;       // Trials of a sweep that wait: made before they are needed.
  std::uint64_t passed_per_tick = 10'000;  // Points that have a trial already, passed over in one step.
  std::map<std::string, std::uint32_t> quotas{};  // Group of sweeps -> most attempts at once.

  static OrchestratorOptions FromConfig(const v1::CoordinatorConfig& config, const std::string& version);
};

// What a call asks of the shell, beside its reply.
struct Effects {
  ChangeBatch changes;                         // To be committed before the reply leaves.
  std::set<std::string> workers;               // Incarnations whose next replies tell of these changes.
  std::vector<std::string> log;                // One line each, at INFO.
  std::vector<double> lease_wait_seconds;      // For each lease granted: from ready to leased.
  std::vector<double> train_steps_per_second;  // For each train attempt that reported a result.
  std::set<std::string> stopped;               // Incarnations that hold an attempt less than they know of.
  std::map<std::string, v1::CoordinatorSync>
      pushes;  // By incarnation: to be sent once `changes` is committed.
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
  Orchestrator(const Orchestrator&) = delete;  // The table of sweeps knows where it is.
  Orchestrator& operator=(const Orchestrator&) = delete;

  // Takes over what the store remembers: once, first. Live attempts get leases with a full term, to be
  // claimed by their workers.
  absl::Status Recover(Snapshot snapshot, Moment now, Effects& effects);

  // What of a submission needs no state: any thread, at any time. Errors: those of CheckedGrid.
  absl::StatusOr<std::unique_ptr<SweepExpander>> PrepareSubmission(const v1::SweepSpec& sweep) const {
    return CheckedExpander(sweep, options_.expand_at_submit);
  }
  // Stores a sweep and makes its first trials. `expander`: PrepareSubmission(request.sweep()); without it the
  // sweep must be known to be valid. The same request_id and content gives the same answer; AlreadyExists
  // with other content; FailedPrecondition when the sweep has more trials than request.max_trials.
  absl::StatusOr<v1::SubmitSweepResponse> OnSubmit(const v1::SubmitSweepRequest& request, Moment now,
                                                   Effects& effects,
                                                   std::unique_ptr<SweepExpander> expander = nullptr);

  // How much of a sync to take; the shell holds back what the store cannot take now.
  struct SyncLimits {
    bool take_events = true;
    bool grant_leases = true;
    bool by_stream = false;  // Its worker can be sent what Offer() pushes.
  };
  // A worker's sync. FailedPrecondition for another version; InvalidArgument for a sync that makes no sense.
  absl::StatusOr<v1::CoordinatorSync> OnSync(const v1::WorkerSync& sync, Moment now, SyncLimits limits,
                                             Effects& effects);
  absl::StatusOr<v1::CoordinatorSync> OnSync(const v1::WorkerSync& sync, Moment now, Effects& effects) {
    return OnSync(sync, now, SyncLimits(), effects);
  }

  // Whether a worker waits on its stream with nothing unanswered, so that it may be pushed new work. A sync
  // ends it. Harmless for a worker that is not known.
  void SetListening(const std::string& incarnation, bool listening);
  // Leases what is ready to those that listen, unless the store cannot take leases now, and says in
  // effects.pushes what to tell them, ended attempts included. Called after every other call, into the same
  // effects.
  void Offer(Moment now, bool grant_leases, Effects& effects);

  absl::StatusOr<v1::CancelResponse> OnCancel(const v1::CancelRequest& request, Moment now, Effects& effects);
  absl::StatusOr<v1::RetryResponse> OnRetry(const v1::RetryRequest& request, Moment now, Effects& effects);
  absl::StatusOr<v1::PauseSweepResponse> OnPause(const v1::PauseSweepRequest& request, Moment now,
                                                 Effects& effects);
  absl::StatusOr<v1::ResumeSweepResponse> OnResume(const v1::ResumeSweepRequest& request, Moment now,
                                                   Effects& effects);
  // `grid` as for OnSubmit. FailedPrecondition where the sweep cannot become the new
  // one (SweepEdit), or has been edited since request.revision.
  absl::StatusOr<v1::EditSweepResponse> OnEdit(const v1::EditSweepRequest& request, Moment now,
                                               Effects& effects, std::optional<SweepGrid> grid);
  absl::StatusOr<v1::EditSweepResponse> OnEdit(const v1::EditSweepRequest& request, Moment now,
                                               Effects& effects) {
    return OnEdit(request, now, effects, std::nullopt);
  }
  absl::StatusOr<v1::DrainWorkerResponse> OnDrain(const v1::DrainWorkerRequest& request, Moment now,
                                                  Effects& effects);

  // What time brings: ended leases, silent workers, stalled attempts, retries that are due, further trials.
  // Does a bounded amount; when there is more, NextDeadline() is not later than `now`.
  void Tick(Moment now, Effects& effects);
  std::optional<Timestamp> NextDeadline() const;

  // What people see. NotFound names what comes close.
  absl::StatusOr<SweepId> FindSweep(const std::string& id_or_name) const;
  v1::SweepStatus Status(SweepId sweep, bool with_spec) const;
  // The present state, with the notices after number `sequence` that are still in memory; the update says how
  // far it has told.
  v1::SweepUpdate Describe(SweepId sweep, Moment now, std::uint64_t sequence) const;
  // Grows with everything that Describe tells.
  std::uint64_t VersionOf(SweepId sweep) const { return sweeps_.View(sweep)->version; }
  // Number of the sweep's latest notice, and of the one before the oldest that Describe still has.
  std::uint64_t NoticesTold(SweepId sweep) const { return sweeps_.View(sweep)->notices_told; }
  std::uint64_t NoticesForgotten(SweepId sweep) const {
    return NoticesTold(sweep) - sweeps_.View(sweep)->notices.size();
  }
  // It has ended and nothing of it runs.
  bool IsOver(SweepId sweep) const;
  // Why a trial, or the trials of a sweep, stand where they do, as far as the state in memory says; past
  // attempts are in the store.
  absl::StatusOr<v1::Explanation> Explain(const v1::ExplainRequest& request, Moment now) const;
  // A page of them, the newest first, so that nobody waits for all.
  absl::StatusOr<v1::ListSweepsResponse> ListSweeps(const v1::ListSweepsRequest& request) const;
  v1::ListWorkersResponse ListWorkers() const;

  // For metrics.
  const OrchestratorStats& stats() const { return stats_; }
  // Stages by kind (train, evaluate) and state.
  const std::map<std::pair<v1::StageKind, v1::TrialState>, std::int64_t>& stage_counts() const {
    return stage_counts_;
  }
  const std::map<v1::TrialState, std::int64_t>& trial_counts() const { return trial_counts_; }
  const std::map<v1::SweepState, std::int64_t>& sweep_counts() const { return sweep_counts_; }
  std::int64_t paused_sweeps() const { return paused_sweeps_; }  // ACTIVE ones.
  const WorkerRegistry& workers() const { return workers_; }
  std::uint64_t leases() const { return static_cast<std::uint64_t>(leases_.size()); }
  Duration silence_term() const { return options_.lease_ttl + options_.lease_margin; }

  // What has ended leaves memory for a scratch file in `folder`, a bounded part at a time (cold_memory.h):
  // WriteCold returns how many parts it wrote, and MapCold gives up their memory once cold().Sync() after it
  // was OK. Nothing else changes by that.
  absl::Status UseScratchFile(const std::filesystem::path& folder) { return cold_.UseFileIn(folder); }
  std::size_t WriteCold();
  void MapCold();
  const ColdMemory& cold() const { return cold_; }

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
    // Trials whose state has changed, with the one they had: what is left of it is stored when the call is
    // done, so that a trial that passes through several states costs one row.
    std::map<TrialId, v1::TrialState> changed = {};
  };

  // recover.cc.
  void RecoverSweep(SweepRecord record);
  absl::Status RecoverStage(const StageRecord& record);
  struct LatestSpec {  // Of the stage before.
    TrialId of;
    SpecHandle handle = kNoSpec;
    v1::TrialSpec spec;
  };
  absl::Status RecoverUnfinishedStage(UnfinishedStage record, LatestSpec& latest);
  void RecoverTrial(const TrialRecord& record);
  void RecoverWorker(WorkerRecord record, Moment now);
  void RecoverAttempt(const LiveAttempt& record, Context& context);

  // orchestrator.cc: submission, expansion, cancel, retry.
  // Ends every call: what follows for the sweeps, then the states of trials that are to be stored.
  void Finish(Context& context);
  void SettleSweeps(Context& context);
  void PackEndedSweeps();
  void RememberRequest(const Sweep& sweep);
  std::optional<SweepId> SweepOfRequest(const std::string& request_id) const;
  absl::Status MakeExpander(Sweep& sweep);
  Scheduler::Rules RulesOf(const Sweep& sweep) const;
  bool WantsTrials(const Sweep& sweep) const;
  // Makes up to `limit` further trials; returns how many were complete at once.
  std::uint64_t Expand(Context& context, Sweep& sweep, std::uint64_t limit);
  void Materialise(Context& context, Sweep& sweep, ExpandedTrial expanded);
  // `spec` is the handle of the trial's specification, made with the first stage that is new.
  StageId FindOrAddStage(Context& context, v1::StageKind kind, const std::string& fingerprint,
                         const ExpandedTrial& trial, TrialId for_trial, StageId train, SpecHandle& spec);
  void RegisterStage(Stage& stage, Sweep& sweep);
  void Follow(Stage& stage, StageId train);  // It is an evaluate stage of this training.
  void CancelTrial(Context& context, Trial& trial, const std::string& why);
  // `pruned_too`: also one that pruning ended, which is then not pruned again.
  bool RetryTrial(Context& context, Trial& trial, bool pruned_too);
  absl::StatusOr<TrialId> FindTrial(const std::string& id) const;
  absl::StatusOr<v1::CancelResponse> Cancel(const v1::CancelRequest& request, Moment now, Effects& effects);
  absl::StatusOr<v1::RetryResponse> Retry(const v1::RetryRequest& request, Moment now, Effects& effects);

  // control.cc: pausing, draining, and what stops attempts without a fault of theirs.
  absl::StatusOr<v1::PauseSweepResponse> Pause(const v1::PauseSweepRequest& request, Moment now,
                                               Effects& effects);
  absl::StatusOr<v1::ResumeSweepResponse> Resume(const v1::ResumeSweepRequest& request, Moment now,
                                                 Effects& effects);
  absl::StatusOr<v1::DrainWorkerResponse> Drain(const v1::DrainWorkerRequest& request, Moment now,
                                                Effects& effects);
  // edit.cc.
  absl::StatusOr<v1::EditSweepResponse> Edit(const v1::EditSweepRequest& request, Moment now,
                                             Effects& effects, std::optional<SweepGrid> grid);
  // Gives the kept trials their places in the new grid and withdraws the others; returns how many of those
  // had not ended.
  std::uint64_t MoveTrials(Context& context, Sweep& sweep, const SweepEdit& edit);
  void Withdraw(Context& context, Sweep& sweep, Trial& trial);
  // Stages that no trial of the sweep has any more are none of its stages.
  void ForgetStages(Sweep& sweep, const std::vector<TrialId>& withdrawn);

  // why.cc.
  v1::Explanation ExplainTrial(const Trial& trial, Moment now) const;
  v1::Explanation ExplainSweep(const Sweep& sweep) const;
  v1::Explanation ExplainStage(const Stage& stage, SweepId sweep, Moment now) const;
  v1::Explanation ExplainAttempt(const Attempt& attempt, Moment now) const;
  void ExplainHold(const Sweep& sweep, v1::Explanation& of) const;
  void ExplainWorkers(v1::Explanation& of) const;

  void SetPaused(Context& context, Sweep& sweep, bool paused);
  absl::StatusOr<std::string> FindWorker(const std::string& name) const;
  // Tells the attempt to write a checkpoint and stop: it stays live, keeps its slot, and ends by itself or at
  // yields_until. False: it was told before.
  bool Yield(Context& context, Attempt& attempt, const std::string& why);
  // It has stopped for something else: its stage waits again, and nothing is counted against it.
  void Preempted(Context& context, const Attempt& attempt, std::string message);
  // Yielding attempts of which the worker knows nothing have nothing to tell any more.
  void EndForgottenYields(Context& context, const WorkerEntry& worker, const v1::WorkerSync& sync);
  void EndOverdueYields(Context& context);

  // AlreadyExists when the id was used for something else; `digest` becomes that of the method and the
  // content.
  absl::Status CheckRequest(const char* method, const std::string& id,
                            const google::protobuf::Message& request, std::string& digest) const;
  // Answers a request that has a request_id once: `decide` runs for the first, and its answer is remembered.
  template <typename Response, typename Request, typename Decide>
  absl::StatusOr<Response> Once(const char* method, const Request& request, Moment now, Effects& effects,
                                Decide decide);

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
  // Empty: its failures are within its limits.
  static std::string WhyStopByFailures(const Sweep& sweep);
  void StopByFailures(Context& context, Sweep& sweep, const std::string& why);
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
  // From where the next attempt goes on.
  static void SetResume(const Stage& stage, v1::Assignment& assignment);
  void NoteProgress(Context& context, Attempt& attempt);

  // offer.cc: workers that listen.
  // `attempt` as its worker is told; one that it has reported is `known` and told without its specification.
  void Desire(const Attempt& attempt, bool known, v1::Assignment& told) const;
  bool IsFree(const WorkerEntry& worker, std::uint32_t slot) const;
  std::optional<std::uint32_t> FreeSlot(const WorkerEntry& worker) const;
  // Whether the worker waits for work may have changed.
  void RefreshOffer(WorkerEntry& worker);

  // placement.cc: what fits where.
  ResourceRequest RequestFor(const Sweep& sweep, const Stage& stage) const;
  Scheduler::Shape ShapeOf(const Sweep& sweep, const Stage& stage) const;
  // A free slot of the worker on which it fits.
  std::optional<std::uint32_t> SlotFor(const WorkerEntry& worker, const ResourceRequest& request) const;
  // The one that has waited longest of those with such a slot; nullptr: none has.
  WorkerEntry* WaitingFor(const ResourceRequest& request);
  // The best stage for the slot, if any may start and fits.
  std::optional<Scheduler::Pick> PickFor(const WorkerEntry& worker, std::uint32_t slot) const;
  // What the attempt took is free again, unless its process still lives as far as the worker says.
  void ReleaseResources(const Attempt& attempt, WorkerEntry& worker);
  // Attempts that have ended here and that the worker does not report any more hold nothing.
  void ReleaseGone(WorkerEntry& worker, const v1::WorkerSync* sync);
  // What the worker has free has grown while it waits.
  void NoteFreed(WorkerEntry& worker);
  // The request of the sweep has changed.
  void ReshapeStages(Context& context, Sweep& sweep);
  void CheckResources() const;  // Of CheckInvariants.
  // Why no registered worker could ever run it; empty: one could, or none is registered.
  std::string WhyNowhere(const ResourceRequest& request) const;
  void ExplainPlacement(const Stage& stage, SweepId sweep, v1::Explanation& of) const;

  // locality.cc: a stage waits a little for the worker that has its checkpoint.
  // Number of the worker that wrote the training's latest checkpoint; 0: not known.
  std::uint32_t HolderOf(const Stage& train) const;
  // It has become ready.
  void WaitForHolder(Context& context, const Stage& stage);
  void EndHolderWaits(Context& context);

  // preemption.cc: attempts of low priority make room.
  void PreemptForWaiting(Context& context);
  std::optional<Timestamp> PreemptionDue() const;

  // memory_retry.cc: more memory for a stage that ran out of it.
  // Raises what the stage asks for. Not empty: it cannot be raised, and why it is not tried again.
  std::string RaiseMemory(Context& context, const Stage& stage, const Attempt& attempt);

  // pruning.cc: trainings that are ended because others do better.
  void SetPruning(Sweep& sweep, Trial& trial, TrialPruningState state);
  // The training ended so for the trial's sweep before.
  bool IsPruned(const Trial& trial) const;
  static bool WantsPruned(const Sweep& sweep, StageId stage);
  // Judges a point of a curve for every sweep that needs the stage, and ends the attempt when all of them
  // want it.
  void JudgePoint(Context& context, const Attempt& attempt, const v1::MeasurementPoint& point);
  void PruneStage(Context& context, Stage& stage, const std::string& reason);

  // sync.cc: the protocol.
  absl::Status CheckSync(const v1::WorkerSync& sync);
  void UpdateWorker(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync, bool is_new);
  void CommitWorker(Context& context, const WorkerEntry& worker);
  void TakeReports(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);
  void TakeEvents(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);
  void TakeEvent(Context& context, const WorkerEntry& worker, const v1::NumberedEvent& event);
  void TakeCheckpoint(Context& context, Attempt& attempt, const v1::CheckpointSaved& saved, WallTime at);
  void TakePeak(Context& context, Attempt& attempt, const v1::Outcome& outcome);
  void TakeOutcome(Context& context, Attempt& attempt, const v1::Outcome& outcome);
  void FillSlots(Context& context, WorkerEntry& worker);
  v1::CoordinatorSync Reply(const WorkerEntry& worker, const v1::WorkerSync& sync, bool by_stream) const;

  StageTally& TallyOf(Sweep& sweep, const Stage& stage) {
    return stage.kind == v1::TRAIN_STAGE ? sweep.train : sweep.evaluate;
  }

  OrchestratorOptions options_;
  LeaseTable leases_;
  WorkerRegistry workers_;
  Scheduler scheduler_;
  OrchestratorStats stats_;

  ColdMemory cold_;
  SweepTable sweeps_;
  DenseTable<TrialId, Trial> trials_;
  DenseTable<StageId, Stage> stages_;
  FingerprintIndex stage_of_fingerprint_;
  DenseTable<StageId, Trained> trained_;  // Train stages that have SUCCEEDED.
  SpecPool specs_;                        // Of stages without a result.
  LabelPool label_pool_;
  // Submissions: hash of the request's id, sweep. Every other request is in requests_.
  absl::btree_set<std::pair<std::uint64_t, ShortId<SweepId>>> sweeps_by_request_;
  RequestLog requests_;
  std::map<Token, Attempt> attempts_;
  std::set<std::pair<Timestamp, Token>> by_progress_;    // (progressed, token) of live attempts.
  std::set<std::pair<Timestamp, StageId>> retries_due_;  // (not_before, stage).
  std::set<std::pair<Timestamp, Token>> yields_due_;     // (yields_until, token).
  std::set<SweepId> expanding_;                          // Sweeps with an expander.
  std::map<std::uint64_t, std::string> waiting_;         // Listening workers with a free slot, in turn.
  std::uint64_t waited_ = 0;
  // Request -> no waiting worker up to this number has a slot on which it fits.
  std::map<ResourceRequest, std::uint64_t> passed_;
  std::map<StageId, std::pair<std::uint32_t, Timestamp>> holder_waits_;  // Stage -> worker's number, until.
  std::set<std::pair<Timestamp, StageId>> holder_waits_due_;
  Timestamp preemption_looked_;            // When it was last looked who should make room.
  std::map<StageId, StageMemory> raised_;  // Of stages without a result that ran out of memory.
  std::map<std::pair<v1::StageKind, v1::TrialState>, std::int64_t> stage_counts_;
  std::map<v1::TrialState, std::int64_t> trial_counts_;
  std::map<v1::SweepState, std::int64_t> sweep_counts_;
  std::int64_t paused_sweeps_ = 0;

  SweepId next_sweep_{1};
  TrialId next_trial_{1};
  StageId next_stage_{1};
  Token next_token_ = 1;
};

template <typename Response, typename Request, typename Decide>
absl::StatusOr<Response> Orchestrator::Once(const char* method, const Request& request, Moment now,
                                            Effects& effects, Decide decide) {
  const std::string& id = request.request_id();
  if (id.empty()) return decide();
  std::string digest;
  if (absl::Status known = CheckRequest(method, id, request, digest); !known.ok()) return known;
  if (const RequestRow* earlier = requests_.Find(id)) {
    Response response;
    INLIER_CHECK(response.ParseFromString(earlier->answer));
    return response;
  }
  absl::StatusOr<Response> response = decide();
  if (response.ok()) effects.changes.Add(requests_.Add(id, method, digest, *response, now.wall));
  return response;
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_ORCHESTRATOR_H_
