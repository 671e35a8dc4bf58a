// TLS of a server whose files may be renewed while it runs.
//
// A connection that begins reads and checks the files if they have changed; open connections continue with theirs.
// Invalid files leave the last valid ones in force; that is logged once for each change.
#ifndef INLIER_RPC_SERVER_TLS_H_
#define INLIER_RPC_SERVER_TLS_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/statusor.h"
#include "rpc/credentials.h"

namespace inlier {

// Plain text when `tls` is empty. They must outlive the server. InvalidArgument as LoadKeyPair and LoadAuthorities.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const ServerTls& tls);

}  // namespace inlier

#endif  // INLIER_RPC_SERVER_TLS_H_
