// TLS of an HTTP server whose files may be renewed: each new connection checks them, as for gRPC (server_tls.h).
//
// Thread safety: none.
#ifndef INLIER_RPC_HTTP_HTTP_TLS_H_
#define INLIER_RPC_HTTP_HTTP_TLS_H_

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "rpc/credentials.h"
#include "rpc/file_stamp.h"

namespace inlier {

class HttpTls {
 public:
  // InvalidArgument for files that MakeServerCredentials refuses.
  static absl::StatusOr<std::unique_ptr<HttpTls>> Open(const ServerTls& tls);

  // For a new connection. With a client_ca callers may show a certificate; one it did not sign ends the handshake.
  std::shared_ptr<boost::asio::ssl::context> Current();

 private:
  explicit HttpTls(const ServerTls& tls) : tls_(tls) {}

  const ServerTls tls_;
  FileStamp stamp_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace inlier

#endif  // INLIER_RPC_HTTP_HTTP_TLS_H_
