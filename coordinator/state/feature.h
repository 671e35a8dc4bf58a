// The functions of a feature of the coordinator: for moments of attempts, stages and sweeps, for times, and for what users see.
// Each feature fills in one of these in a folder of its own; decisions/features.cc lists them, in the order in which they act.
#ifndef INLIER_COORDINATOR_STATE_FEATURE_H_
#define INLIER_COORDINATOR_STATE_FEATURE_H_

#include <optional>
#include <span>
#include <string>

#include "coordinator/state/context.h"

namespace inlier {

struct AttemptEnd {
  v1::TrialState outcome;
  std::optional<v1::FailureClass> failure;
};

struct Feature {
  // When `act` has something to do; nullopt: never, as things are. `act` is called then, and not before.
  std::optional<Timestamp> (*due)(const State&) = nullptr;
  void (*act)(Context&) = nullptr;
  // The attempt has its lease, a new one or, after a restart, that of Attempt::recovered.
  void (*attempt_began)(Context&, Attempt&) = nullptr;
  // The attempt is about to end as failed: where its device or its machine is to blame, the class changes, and the reason
  // goes before the message.
  void (*attempt_fails)(Context&, const Attempt&, v1::FailureClass&, std::string&) = nullptr;
  // Its lease and its resources are gone; it is still in State::attempts.
  void (*attempt_ended)(Context&, const Attempt&, const AttemptEnd&) = nullptr;
  // The worker is connected no longer.
  void (*worker_lost)(Context&, WorkerEntry&) = nullptr;
  // The stage waits for another attempt, or may begin now that its training has a result.
  void (*stage_waits)(Context&, Stage&) = nullptr;
  // It has a result; its sums of time are still there.
  void (*stage_succeeded)(Context&, const Stage&) = nullptr;
  // No trial of the sweep needs the stage any longer, of which an attempt may run.
  void (*sweep_left_stage)(Context&, Stage&, SweepId) = nullptr;
  // A trial of the sweep begins to need the stage, of which an attempt may run.
  void (*sweep_joined_stage)(Context&, Stage&, SweepId) = nullptr;
  // The sweep was submitted, or read from the store; it has no trials yet.
  void (*sweep_began)(Context&, Sweep&) = nullptr;
  // It has its first trials, was edited or retried; or, after a restart, all is read.
  void (*sweep_changed)(Context&, Sweep&) = nullptr;
  // An edit has changed SweepSpec.limits. Before sweep_changed.
  void (*limits_changed)(Context&, Sweep&) = nullptr;
  // Every call ends with it.
  void (*call_ends)(Context&) = nullptr;

  // The explanations of `inlier why` and `inlier status`: of a sweep, also one that is over; of a hold of its trials; of an attempt
  // that runs; of a worker that is connected and takes work.
  void (*explain_sweep)(const State&, const Sweep&, Timestamp, v1::Explanation&) = nullptr;
  void (*explain_wait)(const State&, const Sweep&, Timestamp, v1::Explanation&) = nullptr;
  void (*explain_attempt)(const State&, const Attempt&, Timestamp, v1::Explanation&) = nullptr;
  void (*explain_worker)(const WorkerEntry&, v1::Explanation&) = nullptr;
  void (*describe_sweep)(const Sweep&, Timestamp, v1::SweepStatus&) = nullptr;
  void (*describe_worker)(const WorkerEntry&, v1::WorkerStatus&) = nullptr;
  // Why nothing of the sweep can be retried; left empty where it can.
  void (*refuse_retry)(const Sweep&, Timestamp, std::string&) = nullptr;
};

// All features, in the order in which they act. This and the next two are defined in decisions/features.cc.
std::span<const Feature> Features();

// Does what is due: a bounded amount of work. When there is more, NextDeadline() is not later than the call's time.
void Tick(Context& context);

// The earliest time at which Tick has something to do.
std::optional<Timestamp> NextDeadline(const State& state);

// Calls `moment` of every feature that has it: ForEachFeature(&Feature::stage_waits, context, stage).
template <typename... Parameters, typename... Arguments>
void ForEachFeature(void (*Feature::*moment)(Parameters...), Arguments&&... arguments) {
  for (const Feature& feature : Features()) {
    if (feature.*moment != nullptr) (feature.*moment)(arguments...);
  }
}

// Adds a cause whose text is these parts.
template <typename... Parts>
v1::Explanation& Because(v1::Explanation& of, const Parts&... parts) {
  v1::Explanation& cause = *of.add_because();
  cause.set_text(absl::StrCat(parts...));
  return cause;
}

// The earlier of two times; nullopt counts as never.
inline std::optional<Timestamp> Earlier(std::optional<Timestamp> a, std::optional<Timestamp> b) {
  return !a || (b && *b < *a) ? b : a;
}

// The first of a set of (time, id); nullopt: it is empty.
template <typename Set>
std::optional<Timestamp> FirstOf(const Set& due) {
  return due.empty() ? std::nullopt : std::optional<Timestamp>(due.begin()->first);
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_FEATURE_H_
