// Changes of the state that nothing else follows from: one record and its counts, the change for the store, and the
// notice for those who watch. What follows for other records is decided above (attempts/, sweeps/).
#ifndef INLIER_COORDINATOR_STATE_TRANSITIONS_H_
#define INLIER_COORDINATOR_STATE_TRANSITIONS_H_

#include "coordinator/state/context.h"

namespace inlier {

Scheduler::Rules RulesOf(const Sweep& sweep);

void Touch(State& state, const Stage& stage);

void SetStageState(State& state, Stage& stage, v1::TrialState to);

void CountTrial(State& state, Sweep& sweep, std::optional<v1::TrialState> from, v1::TrialState to);

void AddDependent(State& state, Stage& stage, Trial& trial);

void ForgetRetry(State& state, Stage& stage);

void RegisterStage(State& state, Stage& stage, Sweep& sweep);

// Tells those who watch the sweep, and keeps it as an event.
void Notice(Context& context, Sweep& sweep, const std::string& kind, const std::string& text,
            EventRow about = {});

// The same for every sweep that needs the stage; the text begins with the stage's name for people.
void NoticeOfStage(Context& context, const Stage& stage, const std::string& kind, const std::string& text,
                   Token token);

void CommitStage(Context& context, const Stage& stage);

void SetSweepState(Context& context, Sweep& sweep, v1::SweepState to);

void NoteProgress(Context& context, Attempt& attempt);

void CommitWorker(Context& context, const WorkerEntry& worker);

void SetPruning(State& state, Sweep& sweep, Trial& trial, TrialPruningState to);

bool IsReady(const State& state, const Stage& stage);

void UpdateTrialsOf(Context& context, Stage& stage);

// Puts the trial in a state. False: it is in it already. What follows for its stages when it ends:
// attempts/stage_results.h. REQUIRES: it has no result yet.
bool MarkTrial(Context& context, Trial& trial, v1::TrialState to, const std::string& message);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_TRANSITIONS_H_
