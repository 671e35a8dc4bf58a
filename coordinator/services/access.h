// Access control: which caller may make which call.
//
// Every RPC needs a role, named in one table (MethodRoles); once callers are checked at all, an RPC that is not
// in the table is refused. A caller is identified by its token; without tokens, by its certificate
// (tls_client_ca: any caller whose certificate the authority signed may make every call but those of an admin,
// whom `admins` names); with neither, callers are not checked, and the daemon listens on loopback. Whose sweep a
// call may change is decided with the call (CheckOwner).
//
// A worker may sync as its own incarnations only: the first caller that syncs as an incarnation owns it from
// then on, so the credentials of another worker cannot report, renew or take anything in its name. In addition,
// every write carries the fencing token of a lease that was granted to that incarnation. Owners are kept in
// memory: after a restart of the coordinator an incarnation belongs to its first caller again.
//
// The tokens file is checked at most once a second, and read when it has changed; an open session ends at its
// next sync after its token is removed. If the file becomes unreadable, the old tokens stay in force.
//
// Thread safety: all functions may be called from any thread.
#ifndef INLIER_COORDINATOR_SERVICES_ACCESS_H_
#define INLIER_COORDINATOR_SERVICES_ACCESS_H_

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/metrics.h"
#include "coordinator/state/caller.h"
#include "inlier/v1/config.pb.h"
#include "rpc/credentials.h"

namespace inlier {

struct MethodRole {
  const char* method;  // Its name without the service; no two services have the same.
  Role role;
  bool changes = false;  // Something that outlives the call.
};
const std::vector<MethodRole>& MethodRoles();

class Access {
 public:
  // Reads the tokens file. `metrics` outlives it.
  static absl::StatusOr<std::unique_ptr<Access>> Open(const v1::CoordinatorConfig& config,
                                                      CoordinatorMetrics& metrics);

  // Runs for each refused call of a method that changes something: it must only hand over. Set before any call.
  using Refused = std::function<void(const Caller&, const char* method, const absl::Status&)>;
  void OnRefused(Refused refused) { refused_ = std::move(refused); }

  // The caller, if the call is allowed; else UNAUTHENTICATED, PERMISSION_DENIED, RESOURCE_EXHAUSTED (too many a second,
  // with the milliseconds to wait in the trailing metadata inlier-retry-after-ms) or FAILED_PRECONDITION
  // (another version), with reason and remedy. Refusals are counted, and logged at most once a second for
  // each reason.
  absl::StatusOr<Caller> Admit(grpc::CallbackServerContext& context, const char* method);

  // OK if the caller may sync as `incarnation`.
  absl::Status AdmitWorker(grpc::CallbackServerContext& context, const std::string& incarnation);

  // "tokens, mutual TLS": what protects the daemon, for the log.
  std::string Describe() const;
  Protection protection() const;

 private:
  struct Identity {
    Caller caller;
    std::optional<Role> role;  // None: not by a token.
  };
  struct Bucket {
    double calls = 0;
    Timestamp filled;
  };

  Access(const v1::CoordinatorConfig& config, CoordinatorMetrics& metrics);
  absl::Status LoadTokens();
  void ReloadIfChanged();  // Under mutex_.
  absl::StatusOr<Identity> Identify(grpc::CallbackServerContext& context);  // Under mutex_.
  absl::StatusOr<Identity> IdentifyByCertificate(grpc::CallbackServerContext& context) const;
  absl::Status CheckRole(const Identity& who, const char* method) const;
  absl::Status CheckRate(const Caller& caller, grpc::CallbackServerContext& context);  // Under mutex_.
  // The caller, with a role for the method. Under mutex_.
  absl::StatusOr<Caller> Check(grpc::CallbackServerContext& context, const char* method);
  absl::Status Refuse(grpc::CallbackServerContext& context, const Caller& caller, const char* method,
                      const char* reason, const absl::Status& status);  // Under mutex_.

  const std::string tokens_file_;
  const std::set<std::string> admins_;  // Common names.
  const bool encrypted_, mutual_, insecure_;
  const double calls_per_second_max_;
  CoordinatorMetrics& metrics_;
  Refused refused_;

  std::mutex mutex_;
  std::vector<TokenEntry> tokens_;
  std::filesystem::file_time_type tokens_written_{};
  std::uintmax_t tokens_bytes_ = 0;
  Timestamp checked_;
  std::map<std::string, Bucket> buckets_;                      // By caller.
  std::unordered_map<std::string, std::string> owners_;        // Incarnation -> caller.
  std::map<std::string, std::pair<Timestamp, int>> refusals_;  // Reason -> last line, refusals since.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_ACCESS_H_
