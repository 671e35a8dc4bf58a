// Work for idle workers. A worker whose stream is open and has nothing unanswered is listening: a stage that becomes
// ready is leased to it and pushed, so that nothing waits for a heartbeat.
#ifndef INLIER_COORDINATOR_PROTOCOL_OFFER_H_
#define INLIER_COORDINATOR_PROTOCOL_OFFER_H_

#include "coordinator/state/context.h"

namespace inlier {

// Leases ready stages to listening workers, unless the store cannot take leases now, and fills effects.pushes
// with their messages, ended attempts included. Called after every other call, into the same effects.
void Offer(Context& context, bool grant_leases);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROTOCOL_OFFER_H_
