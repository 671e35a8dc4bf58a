// Access control: which caller may make which call.
//
// Every RPC needs the role that its declaration names (rpc/methods.h). A caller is identified by its
// token; without tokens, by its certificate (tls_client_ca: any caller whose certificate the authority
// signed may make every call but those of an admin, whom `admins` names); with neither, callers are not
// checked, and the daemon listens on loopback. Whose sweep a call may change is decided with the call
// (CheckOwner).
//
// A call is admitted before anything of its messages is read. Callers are counted: each may make so many
// calls a second and have so many open at once. Which workers a caller may sync for is decided with the sync
// (protocol/sync.h).
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

// Who a token is, and the methods that it may call.
struct Introduction {
  std::string name, role;  // Empty where callers are not checked.
  bool admin = false;
  std::vector<std::string> methods;
};

// A call of a caller that was admitted; one of those it has open until this is destroyed.
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
  std::uint64_t tokens_read_;  // Which reading of the tokens file it was checked with.
  Open open_;                  // Calls of its caller.
};

class Access {
 public:
  static constexpr int kSessionsMax = 20'000;  // Of one caller at once: many workers may share a token.
  static constexpr int kOpenMethodsMax = 8;    // Of all callers that are not known, at once.

  // Reads the tokens file. `metrics` outlives it.
  static absl::StatusOr<std::unique_ptr<Access>> Open(const v1::CoordinatorConfig& config,
                                                      CoordinatorMetrics& metrics);

  // Calls that name another database are refused (UNAVAILABLE). Set before any call.
  void Serve(std::string database_id) { of_coordinator_.database_id = std::move(database_id); }

  // Runs for each refused call of a method that changes something: it must only hand over. Set before any call.
  using Refused = std::function<void(const Caller&, const char* method, const absl::Status&)>;
  void OnRefused(Refused refused) { of_coordinator_.refused = std::move(refused); }

  // The caller may make the call; else UNAUTHENTICATED, PERMISSION_DENIED, RESOURCE_EXHAUSTED (too many a
  // second, with the milliseconds to wait in the trailing metadata inlier-retry-after-ms, or too many at
  // once) or FAILED_PRECONDITION (another version), with reason and remedy. Refusals are counted, and logged
  // at most once a second for each reason. `method` outlives the admission.
  absl::StatusOr<Admission> Admit(grpc::CallbackServerContext& context, const char* method);
  // For a method that is open to all: a caller that is not known has no name.
  absl::StatusOr<Admission> AdmitAnyone(grpc::CallbackServerContext& context, const char* method);

  // For a caller by HTTP with this header Authorization. UNAUTHENTICATED as for a call.
  absl::StatusOr<Introduction> Introduce(const std::string& authorization, const std::string& peer);

  // The same caller may make the call; else as Admit, but for rates, which count with the call itself.
  absl::Status CheckHttp(const std::string& authorization, const std::string& peer, const char* method);

  // OK while the credentials of an admitted call are in force.
  absl::Status Recheck(grpc::CallbackServerContext& context, Admission& admission);

  // Counts and logs a refusal that was decided elsewhere, for example that a worker is another caller's.
  void CountRefusal(grpc::CallbackServerContext& context, const Caller& caller, const char* method,
                    const char* reason, const absl::Status& status);

  // Before the ports are bound: only callers with credentials can reach them. InvalidArgument names the field.
  absl::Status CheckPorts(const v1::CoordinatorConfig& config) const;
  // "tokens, mutual TLS": what protects the daemon, for the log.
  std::string Describe() const;
  Protection protection() const;

 private:
  struct Identity {
    Caller caller;
    std::optional<Role> role;  // None: not by a token.
  };
  struct Counts {      // Of one caller.
    double calls = 0;  // It may make now.
    Timestamp filled;
    Admission::Open open = std::make_shared<std::atomic<int>>(0);
    Admission::Open sessions = std::make_shared<std::atomic<int>>(0);
  };

  Access(const v1::CoordinatorConfig& config, CoordinatorMetrics& metrics);
  absl::Status LoadTokens();
  void ReloadIfChanged();                                                   // Under mutex_.
  absl::StatusOr<Identity> Identify(grpc::CallbackServerContext& context);  // Under mutex_.
  absl::StatusOr<Identity> IdentifyByToken(const std::optional<std::string>& header) const;
  // Under mutex_.
  absl::StatusOr<Identity> IdentifyHttp(const std::string& authorization, const std::string& peer,
                                        const char* method);
  absl::StatusOr<Identity> IdentifyByCertificate(grpc::CallbackServerContext& context) const;
  absl::Status CheckRole(const Identity& who, const char* method) const;
  absl::Status CheckRate(const Caller& caller, grpc::CallbackServerContext& context);  // Under mutex_.
  Counts& CountsOf(const std::string& caller);                                         // Under mutex_.
  // The call, as one that the caller has open, at most `most`. Under mutex_.
  absl::StatusOr<Admission> Open(const Caller& caller, const char* method, int most);
  // The caller, with a role for the method. Under mutex_.
  absl::StatusOr<Caller> Check(grpc::CallbackServerContext& context, const char* method);
  absl::Status Refuse(grpc::CallbackServerContext& context, const Caller& caller, const char* method,
                      const char* reason, const absl::Status& status);  // Under mutex_.
  absl::Status RefusePeer(const std::string& peer, const Caller& caller, const char* method,
                          const char* reason, const absl::Status& status);  // Under mutex_.

  const std::string tokens_file_;
  const std::set<std::string> admins_;  // Common names.
  const bool encrypted_, mutual_, insecure_;
  const double calls_per_second_max_;
  const int calls_at_once_max_;
  CoordinatorMetrics& metrics_;
  struct {
    Refused refused;
    std::string database_id;
  } of_coordinator_;

  std::mutex mutex_;
  std::vector<TokenEntry> tokens_;
  FileStamp tokens_stamp_;
  std::atomic<Timestamp> checked_{Timestamp()};
  std::atomic<std::uint64_t> tokens_read_{0};                  // Times that the file was read.
  std::map<std::string, Counts> counts_;                       // By caller.
  std::map<std::string, std::pair<Timestamp, int>> refusals_;  // Reason -> last line, refusals since.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_ACCESS_H_
