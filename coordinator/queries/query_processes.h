// Users' SQL: each statement in a process of its own, started when it is needed and kept for the next one. As
// many run at once as threads call Run.
//
// Thread safety: all methods may be called from any thread.
#ifndef INLIER_COORDINATOR_QUERIES_QUERY_PROCESSES_H_
#define INLIER_COORDINATOR_QUERIES_QUERY_PROCESSES_H_

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/queries/query_process.h"

namespace inlier {

class QueryProcesses {
 public:
  // `program`: see QueryProcess::Start.
  QueryProcesses(std::string program, std::filesystem::path database)
      : program_(std::move(program)), database_(std::move(database)) {}

  // As QueryProcess::Run. `cancelled`: the caller has gone; the statement ends, with Cancelled.
  absl::StatusOr<v1::QueryResponse> Run(const std::string& sql, const QueryLimits& limits,
                                        const std::function<bool()>& cancelled);

  // Ends the statements that run, and all later ones, with Unavailable.
  void Stop();

 private:
  // Takes an idle process, or starts one.
  absl::StatusOr<std::unique_ptr<QueryProcess>> Take();

  const std::string program_;
  const std::filesystem::path database_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<QueryProcess>> idle_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_QUERIES_QUERY_PROCESSES_H_
