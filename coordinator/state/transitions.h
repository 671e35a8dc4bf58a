// Changes of one record: the record and its counts, the change for the store, and the notice for watchers.
// Consequences for other records are decided by the callers (attempts/, sweeps/).
#ifndef INLIER_COORDINATOR_STATE_TRANSITIONS_H_
#define INLIER_COORDINATOR_STATE_TRANSITIONS_H_

#include "coordinator/state/context.h"

namespace inlier {

// The quota of its owner is among them.
ReadyRules RulesOf(const State& state, const Sweep& sweep);

// The stage has changed: a new version for every sweep that needs it.
void Touch(State& state, const Stage& stage);

// Keeps the counts in memory; CommitStage stores the state.
void SetStageState(State& state, Stage& stage, v1::TrialState to);
// Keeps State::interrupted after a change of the stage's state or checkpoint.
void NoteInterruption(State& state, const Stage& stage);

// Moves a trial between the counts by state; `from` is absent for a new one.
void CountTrial(State& state, Sweep& sweep, std::optional<v1::TrialState> from, v1::TrialState to);

// The trial needs the stage, which is one of its own or a source of its training. True: it is the first of its sweep.
// REQUIRES: RegisterStage, where a trial of the sweep runs it.
bool AddDependent(State& state, Stage& stage, Trial& trial);

// Drops the time before which the stage is not retried.
void ForgetRetry(State& state, Stage& stage);

// Counts the stage in the sweep's totals, once.
void RegisterStage(State& state, Stage& stage, Sweep& sweep);
// No trial of the sweep runs the stage any more.
void UnregisterStage(Stage& stage, Sweep& sweep);

// Stores that the trial is FAILED as an event.
void StoreFailure(Context& context, const Trial& trial);

// Sends a notice to the sweep's watchers, and stores it as an event.
void Notice(Context& context, Sweep& sweep, const std::string& kind, const std::string& text,
            EventRow about = {});

// A notice for every sweep that needs the stage; the text ends with the stage and its first trial.
void NoticeOfStage(Context& context, const Stage& stage, const std::string& kind, const std::string& text,
                   Token token);

void CommitStage(Context& context, const Stage& stage);

// nullptr: no more trials are made of its points.
void SetExpander(State& state, Sweep& sweep, std::unique_ptr<SweepExpander> expander);

void SetSweepState(Context& context, Sweep& sweep, v1::SweepState to);

void NoteProgress(Context& context, Attempt& attempt);

void CommitWorker(Context& context, const WorkerEntry& worker);

void SetPruning(Sweep& sweep, Trial& trial, TrialPruningState to);

bool IsReady(const State& state, const Stage& stage);

void UpdateTrialsOf(Context& context, Stage& stage);

// Sets the trial's state. False: the trial is in it already. Consequences for its stages when it ends:
// attempts/stage_results.h. REQUIRES: it has no result yet.
bool MarkTrial(Context& context, Trial& trial, v1::TrialState to, const std::string& message);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_TRANSITIONS_H_
