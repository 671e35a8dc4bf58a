// What becomes of a worker's attempts when its lease runs out, and when its coordinator answers again.
//
// They are suspended, not ended: a suspended attempt runs nothing, so the stage may be leased to somebody
// else meanwhile, and where it was not (the coordinator was down and gives each live attempt a fresh lease)
// the attempt goes on as if nothing had been. It goes on only when an answer names its token and within a
// lease; named no more, it is killed. Who is kept for longer than the limit is ended. Time is an argument.
//
// Thread safety: none.
#ifndef INLIER_WORKER_ATTEMPT_HOLD_H_
#define INLIER_WORKER_ATTEMPT_HOLD_H_

#include <optional>

#include "base/time.h"
#include "worker/lease_guard.h"

namespace inlier {

class AttemptHold {
 public:
  // `longest`: how long attempts are kept without a lease; 0: they end with it.
  explicit AttemptHold(Duration longest) : longest_(longest) {}

  // What is to be done with every attempt when the lease has come to a state. Suspension comes in the last
  // part of the lease already: nothing is won by running to its end, and a worker that is scheduled late
  // has that much to spare.
  enum class Deed { kNothing, kAskToEnd, kSuspend, kKill };
  Deed OnLease(LeaseGuard::State state, Timestamp now);

  // When suspended attempts are given up; nullopt while none is suspended by OnLease.
  std::optional<Timestamp> GivesUpAt() const;

  // What is to be done with a suspended attempt after an answer. `desired`: the answer names its token.
  // `lease_end`: as the answer left it.
  enum class Fate { kStays, kGoesOn, kKilled };
  static Fate OfSuspended(bool desired, std::optional<Timestamp> lease_end, Timestamp now);

 private:
  const Duration longest_;
  std::optional<Timestamp> since_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_ATTEMPT_HOLD_H_
