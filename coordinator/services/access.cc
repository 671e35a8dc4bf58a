#include "coordinator/services/access.h"

#include <grpc/grpc_security_constants.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "base/utf8.h"
#include "base/version.h"
#include "base/version_skew.h"
#include "rpc/methods.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

constexpr Duration kCheckPeriod = std::chrono::seconds(1);
constexpr Duration kLogPeriod = std::chrono::seconds(1);
constexpr std::size_t kCommonNameBytesMax = 256;
constexpr char kRetryAfter[] = "inlier-retry-after-ms";

std::string_view View(const grpc::string_ref& text) { return {text.data(), text.size()}; }

std::optional<std::string> Header(const grpc::CallbackServerContext& context, const char* name) {
  const auto at = context.client_metadata().find(name);
  if (at == context.client_metadata().end()) return std::nullopt;
  return std::string(View(at->second));
}

// The address that a call came from. A call by HTTP comes from this process (coordinator/web).
std::string PeerOf(const grpc::CallbackServerContext& context) {
  std::string peer = context.peer();
  if (absl::StartsWith(peer, "ipv4:") || absl::StartsWith(peer, "ipv6:")) return peer;
  const std::optional<std::string> http = Header(context, kHttpPeerHeader);
  return http ? absl::StrCat("http:", *http) : peer;
}

bool IsShowable(std::string_view name) {
  return name.size() <= kCommonNameBytesMax && IsUtf8(name) &&
         std::ranges::none_of(name, [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

// Checks that `admins` and `callers` fit the way in which callers are identified.
absl::Status CheckNames(const v1::CoordinatorConfig& config) {
  const bool tokens = !config.tokens_file().empty(), certificates = !config.tls_client_ca().empty();
  if (config.admins_size() > 0 && (tokens || !certificates)) {
    return absl::InvalidArgumentError(
        "admins: lists common names of certificates, which requires tls_client_ca and no tokens_file; give "
        "admins a token with `inlier token add --role admin`");
  }
  if (config.callers_size() > 0 && !tokens && !certificates) {
    return absl::InvalidArgumentError(
        "callers: limits of callers require tokens_file or tls_client_ca, which identify them; set one");
  }
  std::set<std::string> names;
  for (const v1::CallerLimits& limits : config.callers()) {
    if (!names.insert(limits.name()).second)
      return absl::InvalidArgumentError(
          absl::StrCat("callers: ", limits.name(), " has two entries; make them one"));
  }
  return absl::OkStatus();
}

}  // namespace

Access::Access(const v1::CoordinatorConfig& config, CoordinatorMetrics& metrics)
    : tokens_file_(config.tokens_file()),
      admins_(config.admins().begin(), config.admins().end()),
      encrypted_(!config.tls_certificate().empty()),
      mutual_(!config.tls_client_ca().empty()),
      insecure_(config.insecure()),
      calls_per_second_max_(config.requests_per_second_max()),
      calls_at_once_max_(static_cast<int>(config.calls_at_once_max())),
      metrics_(metrics) {}

absl::StatusOr<std::unique_ptr<Access>> Access::Open(const v1::CoordinatorConfig& config,
                                                     CoordinatorMetrics& metrics) {
  RETURN_IF_ERROR(CheckNames(config));
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

absl::StatusOr<Access::Identity> Access::Identify(grpc::CallbackServerContext& context) {
  ReloadIfChanged();
  if (!tokens_file_.empty()) return IdentifyByToken(Header(context, kTokenHeader));
  if (!mutual_) return Identity();
  return IdentifyByCertificate(context);
}

absl::StatusOr<Access::Identity> Access::IdentifyByToken(const std::optional<std::string>& header) const {
  if (!header) {
    return absl::UnauthenticatedError(
        "this coordinator requires a token: set INLIER_TOKEN or --token-file (a worker: token_file); `inlier "
        "token add` makes one");
  }
  if (!absl::StartsWith(*header, kTokenScheme))
    return absl::UnauthenticatedError("the header `authorization` must be: Bearer TOKEN");
  const std::string digest = Sha256Hex(std::string_view(*header).substr(std::strlen(kTokenScheme)));
  const TokenEntry* found = nullptr;
  for (const TokenEntry& entry : tokens_) {  // Compares all, so that the time does not depend on the token.
    const std::string& known = entry.sha256;
    if (known.size() == digest.size() && CRYPTO_memcmp(known.data(), digest.data(), known.size()) == 0)
      found = &entry;
  }
  if (found != nullptr) {
    return Identity{.caller = {.name = found->name,
                               .role = RoleName(found->role),
                               .peer = {},
                               .admin = found->role == Role::kAdmin},
                    .role = found->role};
  }
  return absl::UnauthenticatedError(
      "this coordinator does not know the token: it was removed, or belongs to another coordinator; get a "
      "new one (`inlier token add`)");
}

absl::StatusOr<Access::Identity> Access::IdentifyHttp(const std::string& authorization,
                                                      const std::string& peer, const char* method) {
  ReloadIfChanged();
  if (tokens_file_.empty()) return Identity();
  absl::StatusOr<Identity> known =
      IdentifyByToken(authorization.empty() ? std::nullopt : std::optional(authorization));
  if (!known.ok()) return Refuse(peer, Caller(), method, "unauthenticated", known.status());
  return known;
}

absl::Status Access::CheckHttp(const std::string& authorization, const std::string& peer,
                               const char* method) {
  const std::lock_guard lock(mutex_);
  const std::string shown = absl::StrCat("http:", peer);
  ASSIGN_OR_RETURN(const Identity who, IdentifyHttp(authorization, shown, method));
  const absl::Status role = CheckRole(who, method);
  return role.ok() ? role : Refuse(shown, who.caller, method, "forbidden", role);
}

absl::StatusOr<CallerRights> Access::RightsOf(const std::string& authorization, const std::string& peer) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Identity who, IdentifyHttp(authorization, absl::StrCat("http:", peer), "about"));
  CallerRights rights{.caller = who.caller, .methods = {}};
  for (const Method& method : Methods()) {
    if (CheckRole(who, method.name.c_str()).ok()) rights.methods.push_back(method.name);
  }
  return rights;
}

absl::StatusOr<Access::Identity> Access::IdentifyByCertificate(grpc::CallbackServerContext& context) const {
  const auto names = context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  if (names.empty() || names[0].empty())
    return absl::UnauthenticatedError(
        "the certificate of the caller has no common name; have one issued with it");
  if (!IsShowable(View(names[0]))) {
    return absl::UnauthenticatedError(
        absl::StrCat("the common name in the certificate of the caller is longer than ", kCommonNameBytesMax,
                     " bytes, is not UTF-8 or has control characters; have one issued with another"));
  }
  Identity who;
  who.caller.name = std::string(View(names[0]));
  who.caller.role = "certificate";
  who.caller.admin = admins_.contains(who.caller.name);
  return who;
}

absl::Status Access::CheckRole(const Identity& who, const char* method) const {
  const Method* needed = FindMethod(method);
  if (who.caller.name.empty()) {  // Callers are not checked.
    if (needed == nullptr || !needed->runs_programs) return absl::OkStatus();
    return absl::PermissionDeniedError(
        "this decides which programs run as the coordinator's user, so it is refused where callers are not "
        "checked; set tokens_file (`inlier token add --role admin`) or tls_client_ca, or put `fleet` into "
        "the "
        "coordinator's configuration");
  }
  if (needed == nullptr) return absl::PermissionDeniedError(absl::StrCat("there is no method ", method));
  if (!who.role) {
    if (needed->role != Role::kAdmin || who.caller.admin) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat("this needs the role admin, and the certificate of ", who.caller.name,
                     " lacks it; ask an admin, or name it in `admins` of the coordinator's configuration"));
  }
  if (Includes(*who.role, needed->role)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("this needs the role ", RoleName(needed->role), ", and the token of ", who.caller.name,
                   " has the role ", RoleName(*who.role),
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

absl::Status Access::Refuse(const std::string& peer, const Caller& caller, const char* method,
                            const char* reason, const absl::Status& status) {
  metrics_.CountRefusedCall(reason);
  const Method* entry = FindMethod(method);
  if (refused_ && entry != nullptr && entry->changes) {
    Caller refused = caller;
    refused.peer = peer;
    refused_(refused, method, status);
  }
  auto& [last, since] = refusals_[reason];
  ++since;
  const Timestamp now = MonotonicNow();
  if (last != Timestamp() && now - last < kLogPeriod) return status;
  spdlog::warn("call_refused method={} reason={} peer={} refusals={} message={}", method, reason,
               LogText(peer), since, LogText(status.message()));
  last = now;
  since = 0;
  return status;
}

absl::StatusOr<Caller> Access::Check(grpc::CallbackServerContext& context, const char* method) {
  const std::string peer = PeerOf(context);
  absl::StatusOr<Identity> who = Identify(context);
  if (!who.ok()) return Refuse(peer, Caller(), method, "unauthenticated", who.status());
  if (const absl::Status role = CheckRole(*who, method); !role.ok())
    return Refuse(peer, who->caller, method, "forbidden", role);
  who->caller.peer = peer;
  return std::move(who->caller);
}

absl::StatusOr<Admission> Access::Admit(grpc::CallbackServerContext& context, const char* method) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Caller caller, Check(context, method));
  const auto refuse = [&](const char* reason, const absl::Status& status) {
    return Refuse(caller.peer, caller, method, reason, status);
  };
  if (const std::optional<std::string> version = Header(context, kVersionHeader)) {
    const absl::Status skew = CheckVersionSkew("the caller is", *version, Version());
    if (!skew.ok()) return refuse("version", skew);
  }
  if (Header(context, kDatabaseHeader).value_or(database_id_) != database_id_) {
    return refuse("database",
                  absl::UnavailableError("the coordinator at this address has the database of another state "
                                         "folder: endpoint.json of the folder is out of date"));
  }
  if (const absl::Status rate = CheckRate(caller, context); !rate.ok()) return refuse("rate", rate);
  absl::StatusOr<Admission> admission = Open(caller, method, calls_at_once_max_);
  if (!admission.ok()) return refuse("at_once", admission.status());
  return admission;
}

absl::StatusOr<Admission> Access::AdmitAnyone(grpc::CallbackServerContext& context, const char* method) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<Identity> known = Identify(context);
  const Caller caller = known.ok() ? known->caller : Caller();
  absl::StatusOr<Admission> admission =
      Open(caller, method, known.ok() ? calls_at_once_max_ : kOpenMethodsMax);
  if (!admission.ok()) return Refuse(PeerOf(context), caller, method, "at_once", admission.status());
  return admission;
}

absl::Status Access::Recheck(grpc::CallbackServerContext& context, Admission& admission) {
  const bool unchanged = admission.tokens_read_ == tokens_read_;
  if (tokens_file_.empty() || (unchanged && MonotonicNow() - checked_.load() < kCheckPeriod))
    return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  ReloadIfChanged();
  const bool is_open = FindMethod(admission.method_) == nullptr;  // To all callers.
  if (admission.tokens_read_ == tokens_read_ || is_open) return absl::OkStatus();
  ASSIGN_OR_RETURN(admission.caller_, Check(context, admission.method_));
  admission.tokens_read_ = tokens_read_;
  return absl::OkStatus();
}

void Access::CountForbidden(grpc::CallbackServerContext& context, const Caller& caller, const char* method,
                            const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  (void)Refuse(PeerOf(context), caller, method, "forbidden", status);
}

absl::Status Access::CheckPorts(const v1::CoordinatorConfig& config) const {
  RETURN_IF_ERROR(CheckExposure(config.listen(), "listen", protection()));
  RETURN_IF_ERROR(CheckExposure(config.http_listen(), "http_listen", protection()));
  if (insecure_)
    spdlog::warn(
        "insecure reason=\"any caller that reaches the ports may do everything that is not protected\"");
  spdlog::info("access protection=\"{}\"", Describe());
  return absl::OkStatus();
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
