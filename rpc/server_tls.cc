#include "rpc/server_tls.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "rpc/file_stamp.h"
#include "rpc/pem_files.h"
#include "rpc/private_file.h"

namespace inlier {
namespace {

struct Loaded {
  KeyPair pair;
  std::string client_ca;
};

absl::StatusOr<Loaded> Load(const ServerTls& tls) {
  Loaded loaded;
  RETURN_IF_ERROR(CheckRenewable("tls_certificate", tls.certificate));
  RETURN_IF_ERROR(CheckRenewable("tls_key", tls.key));
  RETURN_IF_ERROR(CheckRenewable("tls_client_ca", tls.client_ca));
  ASSIGN_OR_RETURN(loaded.pair, LoadKeyPair(tls.certificate, tls.key, tls.insecure));
  if (!tls.client_ca.empty()) {
    ASSIGN_OR_RETURN(loaded.client_ca, LoadAuthorities("tls_client_ca", tls.client_ca));
  }
  return loaded;
}

// gRPC asks for the certificates when a connection begins; its C++ interface has no way to answer that.
class RenewedCredentials final : public grpc::ServerCredentials {
 public:
  RenewedCredentials(ServerTls tls, FileStamp stamp, Loaded loaded)
      : tls_(std::move(tls)), stamp_(std::move(stamp)), next_(std::move(loaded)) {
    const auto request = tls_.client_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    const auto fetch = [](void* self, grpc_ssl_server_certificate_config** config) {
      return static_cast<RenewedCredentials*>(self)->Fetch(config);
    };
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, fetch, this));
  }
  ~RenewedCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_ssl_certificate_config_reload_status Fetch(grpc_ssl_server_certificate_config** config) {
    const std::lock_guard lock(mutex_);
    Reload();
    if (!next_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{next_->pair.key.c_str(), next_->pair.certificate.c_str()};
    // gRPC wants some authority also where no caller is asked for a certificate.
    const std::string& authorities = next_->client_ca.empty() ? next_->pair.certificate : next_->client_ca;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    next_.reset();
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  void Reload() {
    FileStamp stamp({tls_.certificate, tls_.key, tls_.client_ca});
    if (stamp == stamp_) return;
    stamp_ = std::move(stamp);
    absl::StatusOr<Loaded> loaded = Load(tls_);
    if (loaded.ok()) {
      next_ = *std::move(loaded);
      spdlog::info("tls_files_read certificate={}", tls_.certificate);
    } else {
      spdlog::error("tls_files_not_read reason={} remedy=\"the files read before stay in force\"",
                    LogText(loaded.status().message()));
    }
  }

  const ServerTls tls_;
  grpc_server_credentials* credentials_ = nullptr;
  std::mutex mutex_;
  FileStamp stamp_;
  std::optional<Loaded> next_;  // Not given to gRPC yet.
};

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const ServerTls& tls) {
  if (tls.certificate.empty() && tls.key.empty()) {
    if (!tls.client_ca.empty())
      return absl::InvalidArgumentError("tls_client_ca needs TLS; set tls_certificate and tls_key, too");
    return grpc::InsecureServerCredentials();
  }
  // Taken first: a change while they are read is noticed at the next connection.
  FileStamp stamp({tls.certificate, tls.key, tls.client_ca});
  ASSIGN_OR_RETURN(Loaded loaded, Load(tls));
  return std::make_shared<RenewedCredentials>(tls, std::move(stamp), std::move(loaded));
}

}  // namespace inlier
