// The coordinator, wired together: store, orchestrator, its thread, gRPC and HTTP. main and the tests start
// and stop it.
//
// Thread safety: Start and Stop from one thread; accessors from any.
#ifndef INLIER_COORDINATOR_PROCESS_COORDINATOR_H_
#define INLIER_COORDINATOR_PROCESS_COORDINATOR_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/file_lock.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

class Coordinator {
 public:
  // kShow: it answers calls and decides nothing, so its state stays as it was stored.
  enum class Mode { kRun, kShow };

  // Opens the state folder, recovers its state, binds both ports and writes the endpoint file. `config` has
  // its defaults filled in. `on_fatal` is called at most once, on any thread, when the coordinator cannot
  // continue: the caller must then destroy it and exit non-zero. `lock`: of the folder, where the caller has
  // it (standby.h). `new_database`: makes one where it is missing (store/folder/binding.h). Errors:
  // AlreadyExists for a port in use, FailedPrecondition for a folder that is in use or of another program.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(const v1::CoordinatorConfig& config,
                                                            std::function<void(absl::Status)> on_fatal,
                                                            Mode mode = Mode::kRun,
                                                            std::optional<FileLock> lock = std::nullopt,
                                                            bool new_database = false);
  // Checks what needs neither the folder nor the ports: access, TLS, hooks and the fleet.
  static absl::Status Check(const v1::CoordinatorConfig& config);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Ends calls, commits every decision, removes the endpoint file. Attempts on the workers continue.
  // Idempotent.
  void Stop();

  // Runs `call` on the thread that makes the decisions, after those that wait for it. Not after Stop.
  void Post(std::function<void()> call);

  // False: its gRPC port does not answer.
  bool Serves() const;

  const std::string& grpc_address() const;
  const std::string& http_address() const;

 private:
  struct Parts;
  explicit Coordinator(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROCESS_COORDINATOR_H_
