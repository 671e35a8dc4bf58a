#include "rpc/http/http_tls.h"

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"
#include "rpc/pem_files.h"

namespace inlier {
namespace {

namespace ssl = boost::asio::ssl;

absl::StatusOr<std::shared_ptr<ssl::context>> LoadContext(const ServerTls& tls) {
  ASSIGN_OR_RETURN(const KeyPair pair, LoadKeyPair(tls.certificate, tls.key, tls.insecure));
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  boost::system::error_code error;
  context->use_certificate_chain(boost::asio::buffer(pair.certificate), error);
  if (!error) context->use_private_key(boost::asio::buffer(pair.key), ssl::context::pem, error);
  if (!error && !tls.client_ca.empty()) {
    ASSIGN_OR_RETURN(const std::string authorities, LoadAuthorities("tls_client_ca", tls.client_ca));
    context->add_certificate_authority(boost::asio::buffer(authorities), error);
    context->set_verify_mode(ssl::verify_peer);
  }
  if (error) return absl::InvalidArgumentError(absl::StrCat("tls_certificate: ", error.message()));
  return context;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpTls>> HttpTls::Open(const ServerTls& tls) {
  std::unique_ptr<HttpTls> opened(new HttpTls(tls));
  // Taken first: a change while they are read is noticed at the next connection.
  opened->stamp_ = FileStamp({tls.certificate, tls.key, tls.client_ca});
  ASSIGN_OR_RETURN(opened->context_, LoadContext(tls));
  return opened;
}

std::shared_ptr<ssl::context> HttpTls::Current() {
  FileStamp stamp({tls_.certificate, tls_.key, tls_.client_ca});
  if (stamp == stamp_) return context_;
  stamp_ = std::move(stamp);
  absl::StatusOr<std::shared_ptr<ssl::context>> loaded = LoadContext(tls_);
  if (loaded.ok()) {
    context_ = *std::move(loaded);
  } else {
    spdlog::error("tls_files_not_read server=http reason={} remedy=\"the files read before stay in force\"",
                  LogText(loaded.status().message()));
  }
  return context_;
}

}  // namespace inlier
