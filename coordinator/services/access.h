// Access control: which caller may make which call.
//
// Every RPC needs the role that its declaration names (rpc/methods.h). A caller is identified by its token;
// without tokens, by its certificate (tls_client_ca: any caller whose certificate the authority signed may
// make every call but those of an admin, whom `admins` names); with neither, callers are not checked, and the
// daemon listens on loopback. Owners of sweeps (CheckOwner) and of workers (protocol/sync.h) are checked with
// the call itself.
//
// A call is admitted before anything of its messages is read, within limits for calls a second and open at
// once.
//
// The tokens file is checked at most once a second, and read when it has changed; a stream ends at its next
// message after its token is removed, and a watch within a second. If the file becomes unreadable, the old
// tokens stay in force.
//
// Thread safety: all functions may be called from any thread.
#ifndef INLIER_COORDINATOR_SERVICES_ACCESS_H_
#define INLIER_COORDINATOR_SERVICES_ACCESS_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/state/caller.h"
#include "inlier/v1/config.pb.h"
#include "rpc/credentials.h"
#include "rpc/file_stamp.h"

namespace inlier {

// Names, in the metadata of a call that coordinator/web makes for an HTTP client, the address of that client.
inline constexpr char kHttpPeerHeader[] = "inlier-http-peer";

struct CallerRights {
  Caller caller;
  std::vector<std::string> methods;  // It may call these.
};

// An admitted call, which counts as open until this is destroyed.
class Admission {
 public:
  Admission(Admission&&) = default;
  Admission& operator=(Admission&&) = delete;
  ~Admission() {
    if (open_ != nullptr) --*open_;
  }
  const Caller& caller() const { return caller_; }
  const char* method() const { return method_; }

 private:
  friend class Access;
  using Open = std::shared_ptr<std::atomic<int>>;
  Admission(Caller caller, const char* method, std::uint64_t tokens_read, Open open)
      : caller_(std::move(caller)), method_(method), tokens_read_(tokens_read), open_(std::move(open)) {}

  Caller caller_;
  const char* method_;
  std::uint64_t tokens_read_;  // Access::tokens_read_ when it was checked.
  Open open_;                  // Open calls of its caller.
};

class Access {
 public:
  static constexpr int kSessionsMax = 20'000;  // Open sessions of a caller: many workers may share a token.
  static constexpr int kOpenMethodsMax = 8;    // Open calls of all unauthenticated callers.

  // Reads the tokens file. `metrics` outlives it.
  static absl::StatusOr<std::unique_ptr<Access>> Open(const v1::CoordinatorConfig& config,
                                                      CoordinatorMetrics& metrics);

  // Calls that name another database are refused (UNAVAILABLE). Set before any call.
  void Serve(std::string database_id) { database_id_ = std::move(database_id); }

  // Runs for each refused call of a method that changes something: it must only hand over. Set before any call.
  using Refused = std::function<void(const Caller&, const char* method, const absl::Status&)>;
  void OnRefused(Refused refused) { refused_ = std::move(refused); }

  // Admits the call, or UNAUTHENTICATED, PERMISSION_DENIED, RESOURCE_EXHAUSTED (too many a second, with the
  // milliseconds to wait in the trailing metadata inlier-retry-after-ms, or too many at once) or
  // FAILED_PRECONDITION (another version). Refusals are counted, and logged at most once a second for each
  // reason. `method` outlives the admission.
  absl::StatusOr<Admission> Admit(grpc::CallbackServerContext& context, const char* method);
  // Admits a call of a method that is open to all: an unauthenticated caller has no name.
  absl::StatusOr<Admission> AdmitAnyone(grpc::CallbackServerContext& context, const char* method);

  // For a caller by HTTP with this header Authorization. UNAUTHENTICATED as for a call.
  absl::StatusOr<CallerRights> RightsOf(const std::string& authorization, const std::string& peer);
  // OK if such a caller may make the call; errors are those of Admit without rates, which count with the call
  // itself.
  absl::Status CheckHttp(const std::string& authorization, const std::string& peer, const char* method);

  // OK while the credentials of an admitted call are in force.
  absl::Status Recheck(grpc::CallbackServerContext& context, Admission& admission);

  // Counts and logs a call that was refused after its admission: its worker belongs to another caller.
  void CountForbidden(grpc::CallbackServerContext& context, const Caller& caller, const char* method,
                      const absl::Status& status);

  // Checks, before the ports are bound, that only callers with credentials can reach them. InvalidArgument
  // names the field.
  absl::Status CheckPorts(const v1::CoordinatorConfig& config) const;
  // How the daemon is protected, for the log: "mutual TLS, tokens".
  std::string Describe() const;
  Protection protection() const;

 private:
  struct Identity {
    Caller caller;
    std::optional<Role> role;  // Absent: it has no token.
  };
  struct Counts {
    double calls = 0;  // The caller may make so many now.
    Timestamp filled;
    Admission::Open open = std::make_shared<std::atomic<int>>(0);
    Admission::Open sessions = std::make_shared<std::atomic<int>>(0);
  };

  Access(const v1::CoordinatorConfig& config, CoordinatorMetrics& metrics);
  absl::Status LoadTokens();
  absl::StatusOr<Identity> IdentifyByToken(const std::optional<std::string>& header) const;
  absl::StatusOr<Identity> IdentifyByCertificate(grpc::CallbackServerContext& context) const;
  absl::Status CheckRole(const Identity& who, const char* method) const;
  // The functions below require mutex_.
  void ReloadIfChanged();
  absl::StatusOr<Identity> Identify(grpc::CallbackServerContext& context);
  absl::StatusOr<Identity> IdentifyHttp(const std::string& authorization, const std::string& peer,
                                        const char* method);
  absl::Status CheckRate(const Caller& caller, grpc::CallbackServerContext& context);
  Counts& CountsOf(const std::string& caller);
  // Opens the call, if the caller has fewer than `most` open.
  absl::StatusOr<Admission> Open(const Caller& caller, const char* method, int most);
  // The caller, with a role for the method.
  absl::StatusOr<Caller> Check(grpc::CallbackServerContext& context, const char* method);
  // Counts, logs and returns `status`.
  absl::Status Refuse(const std::string& peer, const Caller& caller, const char* method, const char* reason,
                      const absl::Status& status);

  const std::string tokens_file_;
  const std::set<std::string> admins_;  // Common names.
  const bool encrypted_, mutual_, insecure_;
  const double calls_per_second_max_;
  const int calls_at_once_max_;
  CoordinatorMetrics& metrics_;
  Refused refused_;
  std::string database_id_;

  std::mutex mutex_;
  std::vector<TokenEntry> tokens_;
  FileStamp tokens_stamp_;
  std::atomic<Timestamp> checked_{Timestamp()};
  std::atomic<std::uint64_t> tokens_read_{0};                  // Counts readings of the file.
  std::map<std::string, Counts> counts_;                       // By caller.
  std::map<std::string, std::pair<Timestamp, int>> refusals_;  // Reason -> last line, refusals since.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_ACCESS_H_
