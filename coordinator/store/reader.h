// Reads the database while the coordinator runs: tables, lists, logs. Users' SQL: query_guard.h.
//
// Each call waits for a free one of a few read-only connections, and sees the last commit at its start. A
// call that takes too long ends with an error. Blocking: not for the coordinator's own thread.
//
// Thread safety: all methods may be called from any thread.
#ifndef INLIER_COORDINATOR_STORE_READER_H_
#define INLIER_COORDINATOR_STORE_READER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
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

  // `database_path` is an inlier.db that exists. Connections are opened when first needed. `select_time`
  // limits one SELECT.
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

  // The programs of the sweeps, in the order of their first ones.
  absl::StatusOr<std::vector<v1::ProgramDescription>> Programs();
  // Finds an id ("s-12") or a name: the latest sweep of that name, with those of `caller` first. NotFound
  // names the sweeps that come close.
  absl::StatusOr<SweepId> FindSweep(const std::string& id_or_name, const std::string& caller);
  // Finds an id ("t-17").
  absl::StatusOr<TrialId> FindTrial(const std::string& id);

  // Returns the status with the spec.
  absl::StatusOr<v1::SweepStatus> GetSweep(SweepId sweep);
  // Lists trials by id, without those that an edit withdrew. The page token is the last trial of the page
  // before. A page, here and of Logs, ends at Limits::kPageBytesMax.
  absl::StatusOr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request,
                                                    const std::string& caller);
  // Returns the messages of the sweep's notices after + 1 to `last`, at most `limit`, oldest first.
  absl::StatusOr<std::vector<std::string>> Notices(SweepId sweep, std::uint64_t after, std::uint64_t last,
                                                   std::uint32_t limit);
  // Adds a statement for each ended attempt at the trial's stages, oldest first; the latest kAttemptsListed.
  absl::Status AddPastAttempts(const std::string& trial, v1::Explanation& explanation);
  static constexpr int kAttemptsListed = 50;
  // Returns the lines of all attempts of the trial's stages after line number `after`, oldest first: the
  // first `max_lines`, or with `newest` the last, after a line that reports it where kPageBytesMax left out
  // others.
  absl::StatusOr<v1::GetLogsResponse> Logs(TrialId trial, std::uint64_t after, std::uint32_t max_lines,
                                           bool newest);

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_READER_H_
