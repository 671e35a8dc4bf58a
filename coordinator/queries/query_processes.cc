#include "coordinator/queries/query_processes.h"

#include "base/status.h"

namespace inlier {
namespace {

absl::Status Stopping() {
  return absl::UnavailableError("the coordinator is stopping; send the query again when it is back");
}

}  // namespace

absl::StatusOr<std::unique_ptr<QueryProcess>> QueryProcesses::Take() {
  {
    std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      std::unique_ptr<QueryProcess> process = std::move(idle_.back());
      idle_.pop_back();
      if (process->IsAlive()) return process;
    }
  }
  if (program_.empty()) return absl::FailedPreconditionError("query_program is not set");
  return QueryProcess::Start(program_, database_);
}

absl::StatusOr<v1::QueryResponse> QueryProcesses::Run(const std::string& sql, const QueryLimits& limits,
                                                      const std::function<bool()>& cancelled) {
  const auto must_stop = [&] { return stopped_ || cancelled(); };
  if (stopped_) return Stopping();
  if (cancelled()) return absl::CancelledError("the caller has gone");
  ASSIGN_OR_RETURN(std::unique_ptr<QueryProcess> process, Take());
  absl::StatusOr<v1::QueryResponse> response = process->Run(sql, limits, must_stop);
  if (stopped_ && !response.ok()) return Stopping();
  std::lock_guard lock(mutex_);
  if (!stopped_ && process->IsAlive()) idle_.push_back(std::move(process));
  return response;
}

void QueryProcesses::Stop() {
  stopped_ = true;
  std::lock_guard lock(mutex_);
  idle_.clear();
}

}  // namespace inlier
