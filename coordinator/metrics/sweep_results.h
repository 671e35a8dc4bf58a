// The best results of active sweeps as the database has them: those of trials that ended before this process started,
// or before the sweep was submitted. Read once for each sweep, on a thread of its own.
//
// Thread safety: Of only on one thread.
#ifndef INLIER_COORDINATOR_METRICS_SWEEP_RESULTS_H_
#define INLIER_COORDINATOR_METRICS_SWEEP_RESULTS_H_

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "coordinator/state/live_values.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/reader.h"

namespace inlier {

class SweepResults {
 public:
  // `database_path`: an inlier.db that exists.
  explicit SweepResults(std::filesystem::path database_path);
  // Ends the reading that runs.
  ~SweepResults();
  SweepResults(const SweepResults&) = delete;
  SweepResults& operator=(const SweepResults&) = delete;

  // The best result of each measurement and setting, of each of `sweeps` that has been read; the others are read
  // now, and sweeps that are not among them are forgotten. Does not wait.
  std::map<SweepId, std::vector<SweepValue>> Of(const std::vector<SweepId>& sweeps);

 private:
  void Run();
  std::vector<SweepValue> Read(SweepId sweep);

  Reader reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Of the latest call of Of; nullopt: not read yet. Guarded by mutex_.
  std::map<SweepId, std::optional<std::vector<SweepValue>>> known_;
  bool stop_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_METRICS_SWEEP_RESULTS_H_
