// The caller of a user's request, and what callers may ask for.
#ifndef INLIER_COORDINATOR_STATE_CALLER_H_
#define INLIER_COORDINATOR_STATE_CALLER_H_

#include <optional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "base/status.h"
#include "coordinator/state/lookup.h"
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

// A caller may change its own sweeps, and an admin all.
bool MayChange(const Caller& caller, const Sweep& sweep);
// The same; PermissionDenied names the owner and the remedy.
absl::Status CheckMayChange(const State& state, const Caller& caller, SweepId id);

// OK if the caller may change the sweep and the trial that the request names, and where they do not exist: the call itself
// reports that. Where a request names neither, the role of its call is enough (services/access.h).
template <typename Request>
absl::Status CheckOwner(const State& state, const Caller& caller, const Request& request) {
  if constexpr (requires { request.trial(); }) {
    if (const auto id = TrialId::Parse(request.trial()); id && state.trials.contains(*id))
      RETURN_IF_ERROR(CheckMayChange(state, caller, state.trials.at(*id).sweep));
  }
  // A name in a request to restore is a removed sweep's first: that call finds and checks it.
  if constexpr (requires { request.sweep(); } && !std::is_same_v<Request, v1::RestoreSweepRequest>) {
    if (const auto id = FindAnySweep(state, request.sweep(), caller.name))
      RETURN_IF_ERROR(CheckMayChange(state, caller, *id));
  }
  return absl::OkStatus();
}

// OK if the configuration lets the caller have a sweep of this group, priority and weight; admins may have any.
// `before`: the specification that an edit replaces; what it already has may stay. PermissionDenied names the limit
// and the remedy.
absl::Status CheckCallerLimits(const State& state, const Caller& caller, const v1::SweepSpec& spec,
                               const v1::SweepSpec* before = nullptr);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_CALLER_H_
