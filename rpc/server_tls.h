// TLS of a server whose files may be renewed while it runs.
//
// The files are looked at when a connection begins. When they have changed they are read and checked;
// connections that are open continue with those they began with. Files that are no good leave the last good
// ones in force; that is logged once for each change.
#ifndef INLIER_RPC_SERVER_TLS_H_
#define INLIER_RPC_SERVER_TLS_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/statusor.h"
#include "rpc/credentials.h"

namespace inlier {

// Plain text when `tls` is empty. They must outlive the server. InvalidArgument for a file that is missing,
// is not PEM, has expired, or a key that is not the certificate's, or that others may read. Fields are called
// tls_certificate, tls_key, tls_client_ca.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const ServerTls& tls);

}  // namespace inlier

#endif  // INLIER_RPC_SERVER_TLS_H_
