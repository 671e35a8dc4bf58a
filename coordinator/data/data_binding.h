// Which data a training, or an evaluation with files of its own, is bound to: the digest that its first attempt reports, or the one that its
// sweep began with.
// An attempt that reports another one ends, and its stage is leased to workers that have the data.
#ifndef INLIER_COORDINATOR_DATA_DATA_BINDING_H_
#define INLIER_COORDINATOR_DATA_DATA_BINDING_H_

#include <string_view>

#include "coordinator/state/feature.h"

namespace inlier {

// The data that the stage is bound to, or those with which a sweep that needs it began; zero: any will do. REQUIRES: bound.data.
DataId ExpectedData(const State& state, const Stage& bound);

// Takes the digest that a live attempt reports, "" for none. False: it is of other data, and the attempt has ended.
bool TakeDigest(Context& context, Attempt& attempt, WorkerEntry& worker, std::string_view digest);

// Fails the ready stages of which every worker has other data.
Feature LackingData();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_DATA_DATA_BINDING_H_
