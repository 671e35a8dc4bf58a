// The sources of a training: the training of this coordinator that it starts from (training.start_from), the one that
// this one starts from, and so on.
#ifndef INLIER_COORDINATOR_SCHEDULING_SOURCES_H_
#define INLIER_COORDINATOR_SCHEDULING_SOURCES_H_

#include <string>

#include "absl/container/inlined_vector.h"
#include "coordinator/state/state.h"

namespace inlier {

// Sources that must succeed before the training can run, nearest first; none when it has SUCCEEDED itself.
absl::InlinedVector<StageId, 2> OpenSources(const State& state, const Stage& train);

// The trial, which depends on the stage, does not run it: its training starts from it.
inline bool IsSourceFor(const Stage& stage, const Trial& trial) {
  return trial.train != stage.id && trial.evaluate != stage.id;
}

// "the training of t-3, which its start_from names": the earliest trial that runs it.
std::string SourceText(const State& state, const Stage& source);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_SOURCES_H_
