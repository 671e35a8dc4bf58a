// Both daemons on this machine, under one folder: started, supervised and stopped by `inlier up` and `inlier run`.
//
//   DIR/inlier.db  DIR/endpoint.json  DIR/logs/{coordinator,worker}.log  DIR/attempts  DIR/artifacts
//   DIR/cache      and the tokens of local_state.h
//
// Other users of the machine get nothing: the folder is closed to them, and the coordinator asks for a token, unless its
// configuration names its callers itself (tokens_file, tls_client_ca). With our own token the worker also reads data in
// `data_roots` and the files of this user's sweeps (local_roots.h), and may run the programs of one's own in `data_roots`,
// because only this user submits.
//
// A daemon that dies is restarted with the same ports; one that keeps dying is an error that quotes the end of its log.
// Thread safety: all calls from one thread; supervision happens in Poll().
#ifndef INLIER_CLI_CONNECTION_LOCAL_MODE_H_
#define INLIER_CLI_CONNECTION_LOCAL_MODE_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/file_lock.h"
#include "base/time.h"
#include "rpc/credentials.h"

namespace inlier {

struct LocalOptions {
  std::filesystem::path dir;
  std::optional<uint32_t> slots;  // Default: one a GPU or CPU core.
  std::string data_dir;           // The build's own when empty.
  std::optional<uint16_t> port;   // gRPC; 7420 or, when taken, a free one. The page's is 10000 higher.
  std::vector<std::string> coordinator_set;  // Further --set for each daemon.
  std::vector<std::string> worker_set;
  ClientSecurity security;  // For the call that checks if the coordinator is ready.
  // Folders with the user's data, in addition to the home folder and the artifacts of `dir`.
  std::vector<std::filesystem::path> data_roots;
  bool new_database = false;  // In a folder whose database is missing.
};

class LocalDaemons {
 public:
  // Starts both and waits until the coordinator answers and the worker is registered there (at most 30 s). AlreadyExists
  // when a coordinator of this folder is running, or another process starts one.
  static absl::StatusOr<std::unique_ptr<LocalDaemons>> Start(const LocalOptions& options);
  ~LocalDaemons();  // Stops them.

  // Restarts dead daemons; call it every fraction of a second. An error when a daemon died too often or at its start.
  absl::Status Poll();

  // SIGTERM to the worker, which drains; then to the coordinator; waits for both, SIGKILL after the grace period.
  void Stop();

  const std::string& grpc_address() const { return grpc_address_; }
  const std::string& coordinator_http() const { return coordinator_http_; }
  const std::string& worker_http() const { return worker_http_; }  // Empty: not known.
  // "coordinator restarted after signal 9": new since the last call.
  std::vector<std::string> TakeNotices();

 private:
  struct Daemon {
    std::string name;
    std::vector<std::string> arguments;
    std::filesystem::path log;
    pid_t pid = -1;
    Timestamp started;
    int short_lives = 0;  // Consecutive deaths within seconds of a start.
    // Adds `--set` arguments.
    void Set(const std::vector<std::string>& settings);
  };

  explicit LocalDaemons(const LocalOptions& options) : options_(options) {}
  absl::Status Launch();
  // `launch`: 1 for the first.
  absl::Status PickAddresses(int launch);
  // A daemon has ended because another program took its port, such as a second `inlier up` at the same moment.
  bool LostAnAddress(const absl::Status& ready) const;
  // Makes the tokens, and the arguments of the daemons that belong to them.
  absl::Status SetAccess();
  void SetArguments(int launch);
  absl::Status Spawn(Daemon& daemon);
  absl::Status WaitUntilReady();
  absl::Status Reap(Daemon& daemon);
  void StopOne(Daemon& daemon, Duration grace);

  LocalOptions options_;
  std::optional<FileLock> lock_;  // UpLockFile.
  std::string grpc_address_, coordinator_http_, worker_http_;
  Daemon coordinator_, worker_;
  std::vector<std::string> notices_;
};

// Folder of the running program and of inlier-coordinator, inlier-worker and inlier-trial.
std::filesystem::path ProgramFolder();

}  // namespace inlier

#endif  // INLIER_CLI_CONNECTION_LOCAL_MODE_H_
