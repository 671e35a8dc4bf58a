#include "worker/attempt_hold.h"

#include "base/deliberate_bug.h"

namespace inlier {

AttemptHold::Deed AttemptHold::OnLease(LeaseGuard::State state, Timestamp now) {
  switch (state) {
    case LeaseGuard::State::kIdle:
    case LeaseGuard::State::kHeld:
      since_.reset();
      return Deed::kNothing;
    case LeaseGuard::State::kEnding:
    case LeaseGuard::State::kExpired:
      break;
  }
  if (longest_ <= Duration::zero())
    return state == LeaseGuard::State::kEnding ? Deed::kAskToEnd : Deed::kKill;
  if (!since_) since_ = now;
  return INLIER_BUG("nothing_suspended_at_lease_end") ? Deed::kNothing : Deed::kSuspend;
}

std::optional<Timestamp> AttemptHold::GivesUpAt() const {
  if (!since_) return std::nullopt;
  return *since_ + longest_;
}

AttemptHold::Fate AttemptHold::OfSuspended(bool desired, std::optional<Timestamp> lease_end, Timestamp now) {
  if (!desired && !INLIER_BUG("suspended_goes_on_undesired")) return Fate::kKilled;
  const bool leased = lease_end && now < *lease_end;
  return leased || INLIER_BUG("suspended_goes_on_without_lease") ? Fate::kGoesOn : Fate::kStays;
}

}  // namespace inlier
