#include "coordinator/services/access.h"

#include <grpc/grpc_security_constants.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

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
      calls_at_once_max_(static_cast<int>(config.calls_at_once_max())),
      metrics_(metrics) {}

absl::StatusOr<std::unique_ptr<Access>> Access::Open(const v1::CoordinatorConfig& config,
                                                     CoordinatorMetrics& metrics) {
  std::unique_ptr<Access> access(new Access(config, metrics));
  RETURN_IF_ERROR(access->LoadTokens());
  return access;
}

absl::Status Access::LoadTokens() {
  if (tokens_file_.empty()) return absl::OkStatus();
  checked_ = MonotonicNow();
  tokens_stamp_ = FileStamp({tokens_file_});
  ASSIGN_OR_RETURN(tokens_, ReadTokensFile(tokens_file_, insecure_));
  ++tokens_read_;
  return absl::OkStatus();
}

void Access::ReloadIfChanged() {
  const Timestamp now = MonotonicNow();
  if (tokens_file_.empty() || now - checked_.load() < kCheckPeriod) return;
  checked_ = now;
  if (FileStamp({tokens_file_}) == tokens_stamp_) return;
  const absl::Status loaded = LoadTokens();
  if (loaded.ok()) {
    spdlog::info("tokens_read file={} tokens={}", tokens_file_, tokens_.size());
  } else {
    spdlog::error("tokens_not_read reason={} remedy=\"the tokens read before stay in force\"",
                  LogText(loaded.message()));
  }
}

absl::StatusOr<Caller> Access::Identify(grpc::CallbackServerContext& context) {
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
  Counts& counts = CountsOf(caller.name);
  counts.calls =
      std::min(calls_per_second_max_, counts.calls + ToSeconds(now - counts.filled) * calls_per_second_max_);
  counts.filled = now;
  if (counts.calls >= 1) {
    counts.calls -= 1;
    return absl::OkStatus();
  }
  const int wait_ms = 1 + static_cast<int>(std::ceil(1000 * (1 - counts.calls) / calls_per_second_max_));
  context.AddTrailingMetadata(kRetryAfter, std::to_string(wait_ms));
  return absl::ResourceExhaustedError(
      absl::StrCat("more than ", calls_per_second_max_, " calls a second",
                   caller.name.empty() ? "" : absl::StrCat(" by ", caller.name), "; try again in ", wait_ms,
                   " ms, or raise requests_per_second_max of the coordinator"));
}

Access::Counts& Access::CountsOf(const std::string& caller) {
  const auto [at, is_new] = counts_.try_emplace(caller);
  if (is_new) {
    at->second.calls = calls_per_second_max_;
    at->second.filled = MonotonicNow();
  }
  return at->second;
}

absl::StatusOr<Admission> Access::Open(const Caller& caller, const char* method, int most) {
  const bool session = std::strcmp(method, "Session") == 0;
  Counts& counts = CountsOf(caller.name);
  const Admission::Open& open = session ? counts.sessions : counts.open;
  if (session) most = kSessionsMax;
  if (*open >= most) {
    return absl::ResourceExhaustedError(
        absl::StrCat(most, session ? " sessions" : " calls", " of ",
                     caller.name.empty() ? std::string("callers without a name") : caller.name,
                     " are open, the most at once; ",
                     session ? "give some of the workers another token"
                             : "let some end, or raise calls_at_once_max of the coordinator"));
  }
  ++*open;
  return Admission(caller, method, tokens_read_, open);
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

absl::StatusOr<Caller> Access::Check(grpc::CallbackServerContext& context, const char* method) {
  absl::StatusOr<Caller> caller = Identify(context);
  if (!caller.ok()) return Refuse(context, method, "unauthenticated", caller.status());
  if (const absl::Status role = CheckRole(*caller, method); !role.ok())
    return Refuse(context, method, "forbidden", role);
  return caller;
}

absl::StatusOr<Admission> Access::Admit(grpc::CallbackServerContext& context, const char* method) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Caller caller, Check(context, method));
  const std::optional<std::string> version = Header(context, kVersionHeader);
  if (version && *version != Version()) {
    return Refuse(context, method, "version",
                  absl::FailedPreconditionError(absl::StrCat("the caller is inlier ", version->substr(0, 64),
                                                             " and this coordinator inlier ", Version(),
                                                             "; install the same version on both")));
  }
  if (const absl::Status rate = CheckRate(caller, context); !rate.ok())
    return Refuse(context, method, "rate", rate);
  absl::StatusOr<Admission> admission = Open(caller, method, calls_at_once_max_);
  if (!admission.ok()) return Refuse(context, method, "at_once", admission.status());
  return admission;
}

absl::StatusOr<Admission> Access::AdmitAnyone(grpc::CallbackServerContext& context, const char* method) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<Caller> known = Identify(context);
  absl::StatusOr<Admission> admission = known.ok() ? Open(*known, method, calls_at_once_max_)
                                                   : Open(Caller{}, method, kOpenMethodsMax);
  if (!admission.ok()) return Refuse(context, method, "at_once", admission.status());
  return admission;
}

absl::Status Access::Recheck(grpc::CallbackServerContext& context, Admission& admission) {
  const bool unchanged = admission.tokens_read_ == tokens_read_;
  if (tokens_file_.empty() || (unchanged && MonotonicNow() - checked_.load() < kCheckPeriod))
    return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  ReloadIfChanged();
  if (admission.tokens_read_ == tokens_read_ || admission.caller_.name.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Caller caller, Check(context, admission.method_));
  admission.caller_ = caller;
  admission.tokens_read_ = tokens_read_;
  return absl::OkStatus();
}

void Access::CountRefusal(grpc::CallbackServerContext& context, const char* method, const char* reason,
                          const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  (void)Refuse(context, method, reason, status);
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
