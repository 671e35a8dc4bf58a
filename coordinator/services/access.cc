#include "coordinator/services/access.h"

#include <grpc/grpc_security_constants.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "base/version.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

constexpr Duration kCheckPeriod = std::chrono::seconds(1);
constexpr Duration kLogPeriod = std::chrono::seconds(1);
constexpr std::size_t kOwnersMax = 1'000'000;
constexpr char kRetryAfter[] = "inlier-retry-after-ms";

std::string_view View(const grpc::string_ref& text) { return {text.data(), text.size()}; }

std::optional<std::string> Header(const grpc::CallbackServerContext& context, const char* name) {
  const auto at = context.client_metadata().find(name);
  if (at == context.client_metadata().end()) return std::nullopt;
  return std::string(View(at->second));
}

// Both are hexadecimal digests.
bool SameDigest(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

const std::vector<MethodRole>& MethodRoles() {
  static const std::vector<MethodRole> roles = {
      {"SubmitSweep", Role::kSubmit}, {"ListSweeps", Role::kRead},    {"GetSweep", Role::kRead},
      {"ListTrials", Role::kRead},    {"WatchSweep", Role::kRead},    {"Cancel", Role::kSubmit},
      {"Retry", Role::kSubmit},       {"ListWorkers", Role::kRead},   {"Query", Role::kRead},
      {"BuildTable", Role::kRead},    {"GetLogs", Role::kRead},       {"Session", Role::kWork},
      {"Sync", Role::kWork},          {"PauseSweep", Role::kSubmit},  {"ResumeSweep", Role::kSubmit},
      {"EditSweep", Role::kSubmit},   {"DrainWorker", Role::kSubmit}, {"Explain", Role::kRead},
      {"DescribeStore", Role::kWork}, {"Stat", Role::kWork},          {"Upload", Role::kWork},
      {"Download", Role::kWork},      {"Collect", Role::kSubmit},
  };
  return roles;
}

Access::Access(const v1::CoordinatorConfig& config, CoordinatorMetrics& metrics)
    : tokens_file_(config.tokens_file()),
      encrypted_(!config.tls_certificate().empty()),
      mutual_(!config.tls_client_ca().empty()),
      insecure_(config.insecure()),
      calls_per_second_max_(config.requests_per_second_max()),
      metrics_(metrics) {}

absl::StatusOr<std::unique_ptr<Access>> Access::Open(const v1::CoordinatorConfig& config,
                                                     CoordinatorMetrics& metrics) {
  std::unique_ptr<Access> access(new Access(config, metrics));
  RETURN_IF_ERROR(access->LoadTokens());
  return access;
}

absl::Status Access::LoadTokens() {
  if (tokens_file_.empty()) return absl::OkStatus();
  std::error_code error;
  checked_ = MonotonicNow();
  tokens_written_ = std::filesystem::last_write_time(tokens_file_, error);
  tokens_bytes_ = std::filesystem::file_size(tokens_file_, error);
  ASSIGN_OR_RETURN(tokens_, ReadTokensFile(tokens_file_));
  return absl::OkStatus();
}

void Access::ReloadIfChanged() {
  const Timestamp now = MonotonicNow();
  if (tokens_file_.empty() || now - checked_ < kCheckPeriod) return;
  checked_ = now;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(tokens_file_, error);
  const std::uintmax_t bytes = error ? 0 : std::filesystem::file_size(tokens_file_, error);
  if (!error && written == tokens_written_ && bytes == tokens_bytes_) return;
  const absl::Status loaded = LoadTokens();
  if (loaded.ok()) {
    spdlog::info("tokens_read file={} tokens={}", tokens_file_, tokens_.size());
  } else {
    spdlog::error("tokens_not_read reason={} remedy=\"the tokens read before stay in force\"",
                  LogText(loaded.message()));
  }
}

absl::StatusOr<Access::Caller> Access::Identify(grpc::CallbackServerContext& context) {
  ReloadIfChanged();
  if (!tokens_file_.empty()) {
    const std::optional<std::string> header = Header(context, kTokenHeader);
    if (!header) {
      return absl::UnauthenticatedError(
          "this coordinator requires a token: set INLIER_TOKEN or --token-file (a worker: token_file); "
          "`inlier token add` makes one");
    }
    if (!absl::StartsWith(*header, kTokenScheme))
      return absl::UnauthenticatedError("the header `authorization` must be: Bearer TOKEN");
    const std::string digest = Sha256Hex(std::string_view(*header).substr(std::strlen(kTokenScheme)));
    const TokenEntry* found = nullptr;
    for (const TokenEntry& entry : tokens_) {  // All of them, so that the time does not depend on the token.
      if (SameDigest(entry.sha256, digest)) found = &entry;
    }
    if (found != nullptr) return Caller{found->name, found->role};
    return absl::UnauthenticatedError(
        "this coordinator does not know the token: it was removed, or belongs to another coordinator; get a "
        "new one (`inlier token add`)");
  }
  if (!mutual_) return Caller{};
  const auto names = context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  if (names.empty() || names[0].empty())
    return absl::UnauthenticatedError(
        "the certificate of the caller has no common name; have one issued with it");
  return Caller{absl::StrCat("certificate:", std::string(View(names[0]))), std::nullopt};
}

absl::Status Access::CheckRole(const Caller& caller, const char* method) const {
  if (!caller.role) return absl::OkStatus();
  const auto& roles = MethodRoles();
  const auto needed = std::find_if(roles.begin(), roles.end(), [method](const MethodRole& entry) {
    return std::strcmp(entry.method, method) == 0;
  });
  if (needed == roles.end())
    return absl::PermissionDeniedError(
        absl::StrCat(method, " has no role in MethodRoles and is refused to every caller"));
  if (Includes(*caller.role, needed->role)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(method, " needs the role ", RoleName(needed->role), ", and the token of ", caller.name,
                   " has the role ", RoleName(*caller.role),
                   "; use a token with that role (`inlier token add --role ", RoleName(needed->role), "`)"));
}

absl::Status Access::CheckRate(const Caller& caller, grpc::CallbackServerContext& context) {
  const Timestamp now = MonotonicNow();
  const auto [at, is_new] = buckets_.try_emplace(caller.name, Bucket{calls_per_second_max_, now});
  Bucket& bucket = at->second;
  bucket.calls =
      std::min(calls_per_second_max_, bucket.calls + ToSeconds(now - bucket.filled) * calls_per_second_max_);
  bucket.filled = now;
  if (bucket.calls >= 1) {
    bucket.calls -= 1;
    return absl::OkStatus();
  }
  const int wait_ms = 1 + static_cast<int>(std::ceil(1000 * (1 - bucket.calls) / calls_per_second_max_));
  context.AddTrailingMetadata(kRetryAfter, std::to_string(wait_ms));
  return absl::ResourceExhaustedError(
      absl::StrCat("more than ", calls_per_second_max_, " calls a second",
                   caller.name.empty() ? "" : absl::StrCat(" by ", caller.name), "; try again in ", wait_ms,
                   " ms, or raise requests_per_second_max of the coordinator"));
}

absl::Status Access::Refuse(grpc::CallbackServerContext& context, const char* method, const char* reason,
                            const absl::Status& status) {
  metrics_.CountRefusedCall(reason);
  auto& [last, since] = refusals_[reason];
  ++since;
  const Timestamp now = MonotonicNow();
  if (since > 1 && now - last < kLogPeriod) return status;
  spdlog::warn("call_refused method={} reason={} peer={} refusals={} message={}", method, reason,
               context.peer(), since, LogText(status.message()));
  last = now;
  since = 0;
  return status;
}

absl::StatusOr<Access::Caller> Access::Check(grpc::CallbackServerContext& context, const char* method) {
  absl::StatusOr<Caller> caller = Identify(context);
  if (!caller.ok()) return Refuse(context, method, "unauthenticated", caller.status());
  if (const absl::Status role = CheckRole(*caller, method); !role.ok())
    return Refuse(context, method, "forbidden", role);
  return caller;
}

absl::Status Access::Admit(grpc::CallbackServerContext& context, const char* method) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Caller caller, Check(context, method));
  const std::optional<std::string> version = Header(context, kVersionHeader);
  if (version && *version != Version()) {
    return Refuse(context, method, "version",
                  absl::FailedPreconditionError(absl::StrCat("the caller is inlier ", version->substr(0, 64),
                                                             " and this coordinator inlier ", Version(),
                                                             "; install the same version on both")));
  }
  const absl::Status rate = CheckRate(caller, context);
  return rate.ok() ? rate : Refuse(context, method, "rate", rate);
}

absl::Status Access::AdmitWorker(grpc::CallbackServerContext& context, const std::string& incarnation) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Caller caller, Check(context, "Sync"));
  if (caller.name.empty()) return absl::OkStatus();
  if (owners_.size() >= kOwnersMax && !owners_.contains(incarnation))
    return absl::ResourceExhaustedError("too many workers since the start of the coordinator; restart it");
  const std::string& owner = owners_.try_emplace(incarnation, caller.name).first->second;
  if (owner == caller.name) return absl::OkStatus();
  return Refuse(context, "Sync", "forbidden",
                absl::PermissionDeniedError(absl::StrCat("this incarnation of a worker does not belong to ",
                                                         caller.name,
                                                         "; a worker gets a new incarnation at each start")));
}

Protection Access::protection() const {
  return {.encrypted = encrypted_, .authenticated = !tokens_file_.empty() || mutual_, .insecure = insecure_};
}

std::string Access::Describe() const {
  const char* tls = mutual_ ? "mutual TLS" : encrypted_ ? "TLS" : "plain text";
  const bool tokens = !tokens_file_.empty();
  if (!tokens && !mutual_ && !insecure_) return absl::StrCat(tls, ", no tokens: loopback only");
  return absl::StrCat(tls, tokens ? ", tokens" : ", no tokens", insecure_ ? ", insecure" : "");
}

}  // namespace inlier
