// What a feature of the coordinator does when an attempt begins or ends, when a stage waits again, and when time passes. Each feature fills
// in one of these in a folder of its own; decisions/features.cc lists them, in the order in which they act.
//
// Thread safety: none; functions of the State on the coordinator's thread.
#ifndef INLIER_COORDINATOR_STATE_FEATURE_H_
#define INLIER_COORDINATOR_STATE_FEATURE_H_

#include <optional>
#include <span>

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
};

// Defined in decisions/features.cc.
std::span<const Feature> Features();

// Calls `moment` of every feature that has it: ForEachFeature(&Feature::stage_waits, context, stage).
template <typename... Parameters, typename... Arguments>
void ForEachFeature(void (*Feature::*moment)(Parameters...), Arguments&&... arguments) {
  for (const Feature& feature : Features()) {
    if (feature.*moment != nullptr) (feature.*moment)(arguments...);
  }
}

// The first of a set of (time, id); nullopt: it is empty.
template <typename Set>
std::optional<Timestamp> FirstOf(const Set& due) {
  return due.empty() ? std::nullopt : std::optional<Timestamp>(due.begin()->first);
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_FEATURE_H_
