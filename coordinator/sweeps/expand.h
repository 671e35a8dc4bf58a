// Points of a sweep's grid become trials, a bounded number at a time.
#ifndef INLIER_COORDINATOR_SWEEPS_EXPAND_H_
#define INLIER_COORDINATOR_SWEEPS_EXPAND_H_

#include "coordinator/state/feature.h"

namespace inlier {

// Which failed stages of a trial are tried again.
struct Reopens {
  bool train = true;
  bool evaluate = true;
  bool sources = true;  // Trainings that its own starts from.
};

// The state of a trial, from its stages, of which it reopens cancelled ones, and failed ones where `reopens` allows it.
// `message`: of the stage that decides.
v1::TrialState Link(Context& context, Trial& trial, const Reopens& reopens, std::string& message);

// Makes up to `limit` further trials, or fewer where one waits for data; returns how many were complete at once, or
// are if the data they wait for are unchanged. REQUIRES: it has an expander.
std::uint64_t Expand(Context& context, Sweep& sweep, std::uint64_t limit);

// Makes further trials of the sweeps that want some, a bounded number at a time.
Feature Expansion();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_EXPAND_H_
