// The best results of active sweeps in the database: those of trials that ended before this process started,
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
  ~SweepResults();
  SweepResults(const SweepResults&) = delete;
  SweepResults& operator=(const SweepResults&) = delete;

  // Returns the best result of each measurement and setting for those `sweeps` that have been read. Reads the
  // others in the background, and forgets all other sweeps.
  std::map<SweepId, std::vector<SweepValue>> Of(const std::vector<SweepId>& sweeps);

 private:
  void Run();
  std::vector<SweepValue> Read(SweepId sweep);

  Reader reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // The sweeps of the latest call of Of; nullopt: not read yet. Guarded by mutex_.
  std::map<SweepId, std::optional<std::vector<SweepValue>>> known_;
  bool stop_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_METRICS_SWEEP_RESULTS_H_
