// Which HTTP requests may reach the services: those of the page and of programs, not those that another site
// makes a browser send, and none that would bypass what gRPC requires of callers. Roles, rates and owners are
// checked later, as for every call.
#ifndef INLIER_COORDINATOR_WEB_API_GATE_H_
#define INLIER_COORDINATOR_WEB_API_GATE_H_

#include "absl/status/status.h"
#include "inlier/v1/config.pb.h"
#include "rpc/http/http_server.h"

namespace inlier {

// PermissionDenied, with the remedy, for a request that
// - would send a token and results in plain text to another machine, unless `insecure`;
// - comes without a certificate to a coordinator with tls_client_ca, or at all to one with it and without tokens_file.
absl::Status CheckTransport(const HttpRequest& request, const v1::CoordinatorConfig& config);

// PermissionDenied for a request that another site made a browser send, InvalidArgument for one that is not
// JSON.
absl::Status CheckOrigin(const HttpRequest& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_WEB_API_GATE_H_
