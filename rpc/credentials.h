// Credentials: TLS files, bearer tokens, and the addresses on which a daemon may listen without them.
//
// A token is 256 random bits, so its plain SHA-256 is stored: a salt or a slow hash would add nothing. Free
// functions, all thread-safe. Errors name the field, the file and the remedy, and never hold a token.
#ifndef INLIER_RPC_CREDENTIALS_H_
#define INLIER_RPC_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// PEM files of a server; all empty: plain text.
struct ServerTls {
  std::string certificate{}, key{};  // Go together.
  std::string client_ca{};           // Callers must present a certificate signed by it (mutual TLS).
  bool insecure = false;             // Other users of this machine may read the key.

  template <typename Config>  // Of a daemon.
  static ServerTls Of(const Config& config) {
    return {.certificate = config.tls_certificate(),
            .key = config.tls_key(),
            .client_ca = config.tls_client_ca(),
            .insecure = config.insecure()};
  }
};

// Credentials of a client.
struct ClientSecurity {
  std::string tls_ca;                    // PEM; TLS is on when it is named.
  std::string tls_certificate, tls_key;  // PEM; presented to a coordinator with tls_client_ca.
  std::string token;                     // The token itself.
  std::string database_id;               // The coordinator's; another one refuses the calls. Empty for any.
  std::string token_file;  // Where it was read; a long-lived client reads it again (renewed_channel.h).
  // The token may go over plain text to another machine, and other users may read the files.
  bool insecure = false;
};

// InvalidArgument for invalid files, and for a token that would go over plain text to another machine.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const ClientSecurity& security, const std::string& address);

// OK if a daemon can read all files of `security` again (private_file.h).
absl::Status CheckRenewable(const ClientSecurity& security);

// True if every address of "host:port" is this machine's loopback.
bool IsLoopback(const std::string& address);

// The protection of a daemon.
struct Protection {
  bool encrypted = false;      // TLS.
  bool authenticated = false;  // Tokens, or certificates of callers.
  bool insecure = false;       // The configuration declares the network trusted.
};
// OK if a daemon may listen on `address`: always on loopback; elsewhere only encrypted and authenticated,
// or insecure. InvalidArgument with the remedy.
absl::Status CheckExposure(const std::string& address, const std::string& field,
                           const Protection& protection);

// The permission of a caller. ADMIN includes SUBMIT, which includes READ.
enum class Role { kRead, kSubmit, kWork, kAdmin };
inline constexpr char kRoleNames[] = "read, submit, work or admin";
std::string RoleName(Role role);
absl::StatusOr<Role> RoleFromName(const std::string& name);
bool Includes(Role held, Role needed);

class FileLock;

// A line of a tokens file: "<role> <name> <sha256>".
struct TokenEntry {
  Role role = Role::kRead;
  std::string name;  // Letters, digits, '.', '_', '-'.
  std::string sha256;
};

// InvalidArgument names file and line, or, unless `insecure`, a file that is not private (private_file.h).
absl::StatusOr<std::vector<TokenEntry>> ReadTokensFile(const std::filesystem::path& file,
                                                       bool insecure = false);
// The right to replace the file, so that simultaneous additions lose none; Unavailable, with the holder, after 1 s.
absl::StatusOr<FileLock> LockTokensFile(const std::filesystem::path& file);
// Replaces the file atomically. A new one has mode 0600; one of this user, or for root of any, keeps owner and mode.
absl::Status WriteTokensFile(const std::filesystem::path& file, const std::vector<TokenEntry>& entries);

// A new token: "inlier_" and 64 hexadecimal digits, from the system's random source.
absl::StatusOr<std::string> NewToken();

// The token in `file` (its first line); empty when `file` is. Unless `insecure` the file must be private.
absl::StatusOr<std::string> ReadToken(const std::string& file, const std::string& field,
                                      bool insecure = false);

}  // namespace inlier

#endif  // INLIER_RPC_CREDENTIALS_H_
