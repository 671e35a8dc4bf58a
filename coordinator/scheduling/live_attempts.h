// The one place where attempts begin and end for all that counts them: lease, slots, resources, the ready queue, the features.
#ifndef INLIER_COORDINATOR_SCHEDULING_LIVE_ATTEMPTS_H_
#define INLIER_COORDINATOR_SCHEDULING_LIVE_ATTEMPTS_H_

#include <cstdint>
#include <vector>

#include "coordinator/state/feature.h"

namespace inlier {

// The attempt is live from now on, on these slots of its worker, with a lease as of `leased`. The reference lives until it ends.
// REQUIRES: its stage has no live attempt.
Attempt& BeginAttempt(Context& context, Attempt attempt, const std::vector<std::uint32_t>& slots,
                      Timestamp leased);

// It is live no longer, and is forgotten. REQUIRES: it is in State::attempts.
void ForgetAttempt(Context& context, Token token, const AttemptEnd& end);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_LIVE_ATTEMPTS_H_
