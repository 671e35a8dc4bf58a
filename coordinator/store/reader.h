// Reads the database while the coordinator runs: tables, lists, logs. People's SQL: query_guard.h.
//
// A small pool of read-only connections; each call takes one, waits for a free one, and sees the last commit at
// its start. A call that takes too long is ended. Blocking: not for the coordinator's own thread.
//
// Thread safety: all methods may be called from any thread.
#ifndef INLIER_COORDINATOR_STORE_READER_H_
#define INLIER_COORDINATOR_STORE_READER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/sql_value.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

struct SqlRows {
  std::vector<std::vector<SqlValue>> rows;
};

class Reader {
 public:
  static constexpr Duration kSelectTime = std::chrono::seconds(60);

  // `database_path` is an inlier.db that exists (Database::Open made it). Connections are opened when first
  // needed. `select_time`: of one SELECT.
  explicit Reader(std::filesystem::path database_path, int connections = 2,
                  Duration select_time = kSelectTime);
  ~Reader();

  // Ends the SELECTs that run, and all later ones, with Unavailable.
  void Stop();

  // A SELECT of this program with bound values (?1, ?2, …); unlimited rows. DeadlineExceeded past the time.
  absl::StatusOr<SqlRows> Select(const std::string& sql, const std::vector<SqlValue>& values = {});
  // The same, row by row, none of which is kept; ends with the first error of `visit`.
  absl::Status ForEach(const std::string& sql, const std::vector<SqlValue>& values,
                       const std::function<absl::Status(const std::vector<SqlValue>&)>& visit);

  // Id ("s-12"), or name: the latest of that name, of those of `caller` first. NotFound names the sweeps that come
  // close.
  absl::StatusOr<SweepId> FindSweep(const std::string& id_or_name, const std::string& caller);
  // Id ("t-17"). NotFound when there is none.
  absl::StatusOr<TrialId> FindTrial(const std::string& id);

  // With its spec.
  absl::StatusOr<v1::SweepStatus> GetSweep(SweepId sweep);
  // By id, without those that an edit withdrew. The page token is the last trial of the page before. This and the lines of
  // Logs end at Limits::kPageBytesMax.
  absl::StatusOr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request,
                                                    const std::string& caller);
  // Messages of the sweep's notices number after + 1 to `last`, at most `limit`, oldest first.
  absl::StatusOr<std::vector<std::string>> Notices(SweepId sweep, std::uint64_t after, std::uint64_t last,
                                                   std::uint32_t limit);
  // A statement for each attempt at the trial's stages that has ended, oldest first; the latest
  // kAttemptsListed.
  absl::Status AddPastAttempts(const std::string& trial, v1::Explanation& explanation);
  static constexpr int kAttemptsListed = 50;
  // Lines of all attempts of the trial's stages after line number `after`, oldest first; of more than `max_lines` the first of
  // them, or with `newest` the last, after a line that says so where bytes left out others.
  absl::StatusOr<v1::GetLogsResponse> Logs(TrialId trial, std::uint64_t after, std::uint32_t max_lines,
                                           bool newest);

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_READER_H_
