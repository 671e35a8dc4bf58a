// Whether a request_id may be used for a request.
#ifndef INLIER_COORDINATOR_STATE_REQUESTS_H_
#define INLIER_COORDINATOR_STATE_REQUESTS_H_

#include "coordinator/state/context.h"

namespace inlier {

// AlreadyExists when the id was used for something else; `digest` becomes that of the method and the
// content.
absl::Status CheckRequest(const State& state, const char* method, const std::string& id,
                          const google::protobuf::Message& request, std::string& digest);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_REQUESTS_H_
