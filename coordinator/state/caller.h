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

// OK if the caller may change what the request names: its own sweeps and their trials, and an admin everything. Also
// for what does not exist: the call itself reports that. PermissionDenied names the owner and the remedy.
absl::Status CheckOwner(const State& state, const Caller& caller, const v1::CancelRequest& request);
absl::Status CheckOwner(const State& state, const Caller& caller, const v1::RetryRequest& request);
absl::Status CheckOwner(const State& state, const Caller& caller, const v1::PauseSweepRequest& request);
absl::Status CheckOwner(const State& state, const Caller& caller, const v1::ResumeSweepRequest& request);
absl::Status CheckOwner(const State& state, const Caller& caller, const v1::EditSweepRequest& request);
// A worker has no owner: the role of the call is enough (services/access.h).
inline absl::Status CheckOwner(const State&, const Caller&, const v1::DrainWorkerRequest&) {
  return absl::OkStatus();
}

// The same of the fleet.
inline absl::Status CheckOwner(const State&, const Caller&, const v1::SetFleetRequest&) {
  return absl::OkStatus();
}
inline absl::Status CheckOwner(const State&, const Caller&, const v1::ScaleFleetRequest&) {
  return absl::OkStatus();
}
inline absl::Status CheckOwner(const State&, const Caller&, const v1::StopFleetRequest&) {
  return absl::OkStatus();
}

// An analysis is new, and of its caller.
inline absl::Status CheckOwner(const State&, const Caller&, const v1::StoreAnalysisRequest&) {
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
