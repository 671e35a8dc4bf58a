// Who makes a call of people, and what callers may ask for.
#ifndef INLIER_COORDINATOR_STATE_CALLER_H_
#define INLIER_COORDINATOR_STATE_CALLER_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/state/state.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// Without a name: callers are not checked, and each may do everything.
struct Caller {
  std::string name;   // Of its token, or the common name of its certificate.
  std::string role;   // Of its token; "certificate".
  std::string peer;   // Its address.
  bool admin = true;  // May change what others own.
};

// OK if the caller may change the sweep or trial of these names: its own, and an admin everything. Also for what does not exist:
// the call itself reports that. PermissionDenied names the owner and the remedy.
absl::Status CheckOwnerOfSweep(const State& state, const Caller& caller, const std::string& name);
absl::Status CheckOwnerOfTrial(const State& state, const Caller& caller, const std::string& name);

// The same of all that a request names. What names neither has no owner: the role of its call is enough (services/access.h).
template <typename Request>
absl::Status CheckOwner(const State& state, const Caller& caller, const Request& request) {
  if constexpr (requires { request.trial(); }) {
    if (absl::Status fits = CheckOwnerOfTrial(state, caller, request.trial()); !fits.ok()) return fits;
  }
  if constexpr (requires { request.sweep(); }) {
    if (absl::Status fits = CheckOwnerOfSweep(state, caller, request.sweep()); !fits.ok()) return fits;
  }
  return absl::OkStatus();
}

bool MayChange(const Caller& caller, const Sweep& sweep);

// OK if the configuration lets the caller have a sweep of this group, priority and weight; admins may have any.
// `before`: the specification that an edit replaces; what it already has may stay. PermissionDenied names the limit
// and the remedy.
absl::Status CheckCallerLimits(const State& state, const Caller& caller, const v1::SweepSpec& spec,
                               const v1::SweepSpec* before = nullptr);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_CALLER_H_
