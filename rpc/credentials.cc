#include "rpc/credentials.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/status.h"
#include "base/time.h"
#include "rpc/pem_files.h"
#include "rpc/private_file.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kNameBytesMax = 64;
constexpr Duration kLockedWithin = std::chrono::seconds(1);
constexpr char kTokenPrefix[] = "inlier_";

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kNameBytesMax && std::ranges::all_of(name, [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  });
}

// True if a header can carry it.
bool IsSendable(const std::string& token) {
  return std::ranges::all_of(token, [](unsigned char c) { return absl::ascii_isgraph(c); });
}

bool IsLoopbackAddress(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  }
  if (address->sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr) != 0;
  return false;
}

}  // namespace

absl::Status CheckRenewable(const ClientSecurity& security) {
  RETURN_IF_ERROR(CheckRenewable("tls_ca", security.tls_ca));
  RETURN_IF_ERROR(CheckRenewable("tls_certificate", security.tls_certificate));
  RETURN_IF_ERROR(CheckRenewable("tls_key", security.tls_key));
  return CheckRenewable("token_file", security.token_file);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const ClientSecurity& security, const std::string& address) {
  if (!IsSendable(security.token))
    return absl::InvalidArgumentError("the token has characters that no token has");
  if (security.tls_ca.empty()) {
    if (!security.tls_certificate.empty() || !security.tls_key.empty())
      return absl::InvalidArgumentError(
          "tls_certificate and tls_key need tls_ca, the certificate that signed the coordinator's");
    if (!security.token.empty() && !security.insecure && !IsLoopback(address)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the token would go to ", address,
                       " in plain text, for everyone in between to read: set tls_ca (the command "
                       "line: --tls-ca), or insecure for a network you trust"));
    }
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  ASSIGN_OR_RETURN(options.pem_root_certs, LoadAuthorities("tls_ca", security.tls_ca));
  if (!security.tls_certificate.empty() || !security.tls_key.empty()) {
    ASSIGN_OR_RETURN(const KeyPair pair,
                     LoadKeyPair(security.tls_certificate, security.tls_key, security.insecure));
    options.pem_cert_chain = pair.certificate;
    options.pem_private_key = pair.key;
  }
  return grpc::SslCredentials(options);
}

bool IsLoopback(const std::string& address) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, "address");
  if (!parsed.ok()) return false;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(parsed->host.c_str(), nullptr, &hints, &found) != 0) return false;
  bool loopback = found != nullptr;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next)
    loopback = loopback && IsLoopbackAddress(info->ai_addr);
  ::freeaddrinfo(found);
  return loopback;
}

absl::Status CheckExposure(const std::string& address, const std::string& field,
                           const Protection& protection) {
  if (protection.insecure || (protection.encrypted && protection.authenticated)) return absl::OkStatus();
  RETURN_IF_ERROR(ParseAddress(address, field).status());
  if (IsLoopback(address)) return absl::OkStatus();
  const char* lacks = !protection.encrypted && !protection.authenticated
                          ? "neither TLS nor a check of callers"
                      : !protection.encrypted ? "no TLS, so tokens could be read on the network"
                                              : "no check of callers";
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", address, " can be reached from other machines, and there is ", lacks,
                   "; set tls_certificate and tls_key with tokens_file (`inlier token add`) or "
                   "tls_client_ca, listen on 127.0.0.1, "
                   "or set insecure: true on a network you trust"));
}

std::string RoleName(Role role) {
  constexpr const char* kNames[] = {"read", "submit", "work", "admin"};
  static_assert(std::size(kNames) == static_cast<int>(Role::kAdmin) + 1);
  return kNames[static_cast<int>(role)];
}

absl::StatusOr<Role> RoleFromName(const std::string& name) {
  for (const Role role : {Role::kRead, Role::kSubmit, Role::kWork, Role::kAdmin}) {
    if (RoleName(role) == name) return role;
  }
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not a role; expected ", kRoleNames));
}

bool Includes(Role held, Role needed) {
  if (held == needed) return true;
  return needed == Role::kRead ? held == Role::kSubmit || held == Role::kAdmin
                               : needed == Role::kSubmit && held == Role::kAdmin;
}

absl::StatusOr<std::vector<TokenEntry>> ReadTokensFile(const std::filesystem::path& file, bool insecure) {
  RETURN_IF_ERROR(CheckRenewable("tokens_file", file.string()));
  if (!insecure) RETURN_IF_ERROR(CheckPrivate("tokens_file", file.string()));
  const absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("tokens_file: ", std::string(text.status().message()),
                                                   "; make one with `inlier token add --file ", file.string(),
                                                   " --role submit --name NAME`"));
  }
  std::vector<TokenEntry> entries;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    const auto wrong = [&](const std::string& what) {
      return absl::InvalidArgumentError(absl::StrCat("tokens_file: ", file.string(), ":", number, ": ", what,
                                                     "; a line is: role name sha256"));
    };
    if (words.size() != 3) return wrong(absl::StrCat("it has ", words.size(), " words"));
    const absl::StatusOr<Role> role = RoleFromName(words[0]);
    if (!role.ok()) return wrong(std::string(role.status().message()));
    if (!IsName(words[1])) return wrong("the name may have letters, digits, '.', '_' and '-'");
    if (!IsSha256Hex(words[2])) return wrong("the hash is not 64 lower-case hexadecimal digits");
    entries.push_back({*role, words[1], words[2]});
  }
  return entries;
}

absl::StatusOr<FileLock> LockTokensFile(const std::filesystem::path& file) {
  const std::string path = file.string() + ".lock";
  const Timestamp deadline = MonotonicNow() + kLockedWithin;
  while (true) {
    ASSIGN_OR_RETURN(std::optional<FileLock> lock, FileLock::TryAcquire(path));
    if (lock) return *std::move(lock);
    if (MonotonicNow() > deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::UnavailableError(absl::StrCat(path, " is locked by ", FileLock::HolderOf(path),
                                             ", and so nothing was changed; end that process, or remove ",
                                             path,
                                             " where it has no business with the tokens, and try again"));
}

absl::Status WriteTokensFile(const std::filesystem::path& file, const std::vector<TokenEntry>& entries) {
  std::string text =
      absl::StrCat("# Callers of the coordinator: role (", kRoleNames, "), name, SHA-256 of the token.\n");
  for (const TokenEntry& entry : entries) {
    if (!IsName(entry.name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", entry.name, "' is not a name of a token: use letters, digits, '.', '_' and '-', at most ",
          kNameBytesMax));
    }
    absl::StrAppend(&text, RoleName(entry.role), " ", entry.name, " ", entry.sha256, "\n");
  }
  return WriteFileAtomically(file, text, 0600);
}

absl::StatusOr<std::string> NewToken() {
  std::string bytes(kTokenBytes, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return ErrnoStatus("the system provides no random numbers");
  return absl::StrCat(kTokenPrefix, absl::BytesToHexString(bytes));
}

absl::StatusOr<std::string> ReadToken(const std::string& file, const std::string& field, bool insecure) {
  if (file.empty()) return std::string();
  if (!insecure) RETURN_IF_ERROR(CheckPrivate(field, file));
  constexpr std::size_t kTokenFileBytesMax = 64 << 10;
  const absl::StatusOr<std::string> text = ReadSmallFile(file, kTokenFileBytesMax);
  if (!text.ok())
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", std::string(text.status().message())));
  std::string token(absl::StripAsciiWhitespace(text->substr(0, text->find('\n'))));
  if (token.empty() || !IsSendable(token))
    return absl::InvalidArgumentError(absl::StrCat(field, ": the first line of ", file, " is not a token"));
  return token;
}

}  // namespace inlier
