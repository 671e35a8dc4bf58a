// Slots for gangs: attempts of several processes, which start together on one worker.
//
// A gang holds no slot before it has all of them, so that two gangs never wait for each other. But slots get free one at
// a time, and attempts of one process would take each of them. So the gang whose turn it is by the order of the ready queue,
// and which fits nowhere now, has one worker kept for it: no other request starts there until the gang does, or until
// its turn is over (it was cancelled, paused, or something goes before it). One worker is kept at a time; when its gang
// has started, the next gang's turn comes.
//
// The kept worker is a function of the rest of the state and of the worker kept so far; it is not stored.
#ifndef INLIER_COORDINATOR_SCHEDULING_GATHER_H_
#define INLIER_COORDINATOR_SCHEDULING_GATHER_H_

#include <string>

#include "coordinator/state/context.h"

namespace inlier {

// Decides which worker is kept now. Before anything is leased.
void GatherForGang(State& state);

// Attempts of the worker were asked to yield to a gang: where it is this gang's turn, their slots are kept for it.
void GatherWhereAttemptsYield(State& state, const std::string& incarnation, const ResourceRequest& request);

// The worker is kept for another request.
bool IsKept(const State& state, const WorkerEntry& worker, const ResourceRequest& request);

// The worker takes work, and could run the request if its slots were free.
bool CouldRun(const WorkerEntry& worker, const ResourceRequest& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_GATHER_H_
