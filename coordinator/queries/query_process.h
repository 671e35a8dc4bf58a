// One process that runs users' SQL, seen from the coordinator.
//
// A statement ends at its time limit in any case, because its process is killed: SQLite asks whether
// to continue only at jumps of a program, never in an expression, which may take hours, in a function or while
// it reads the text of a statement. What breaks SQLite breaks only one process.
//
// Thread safety: none; one thread at a time.
#ifndef INLIER_COORDINATOR_QUERIES_QUERY_PROCESS_H_
#define INLIER_COORDINATOR_QUERIES_QUERY_PROCESS_H_

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/descriptor.h"
#include "base/time.h"
#include "coordinator/store/query_guard.h"

namespace inlier {

class QueryProcess {
 public:
  // The process may answer that the time is over within this time after the limit.
  static constexpr Duration kGrace = std::chrono::milliseconds(250);

  // Starts `program`, which calls AnswerQueries for `database`.
  static absl::StatusOr<std::unique_ptr<QueryProcess>> Start(const std::string& program,
                                                             const std::filesystem::path& database);
  ~QueryProcess() { Kill(); }
  QueryProcess(const QueryProcess&) = delete;
  QueryProcess& operator=(const QueryProcess&) = delete;

  pid_t pid() const { return pid_; }
  // True while it can run another statement.
  bool IsAlive();

  // Runs one statement; `must_stop` is asked 50 times a second. Errors are those of GuardedConnection::Query,
  // and Cancelled when `must_stop` was true: the process is dead then.
  absl::StatusOr<v1::QueryResponse> Run(const std::string& sql, const QueryLimits& limits,
                                        const std::function<bool()>& must_stop);

 private:
  QueryProcess(pid_t pid, Descriptor socket) : pid_(pid), socket_(std::move(socket)) {}
  // Sends `request` and returns the message that comes back.
  absl::StatusOr<std::string> Exchange(const std::string& request, Duration time,
                                       const std::function<bool()>& must_stop);
  // Returns the error of a process that has ended by itself.
  absl::Status Ended();
  // Kills and reaps the process; returns the status of waitpid(2).
  int Kill();

  pid_t pid_;
  Descriptor socket_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_QUERIES_QUERY_PROCESS_H_
