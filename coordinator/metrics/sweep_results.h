// The best results of active sweeps in the database: those of trials that ended before this process started,
// or before the sweep was submitted. Read once for each sweep, on a thread of its own.
//
// Thread safety: Of only on one thread.
#ifndef INLIER_COORDINATOR_METRICS_SWEEP_RESULTS_H_
#define INLIER_COORDINATOR_METRICS_SWEEP_RESULTS_H_

#include <filesystem>
#include <future>
#include <map>
#include <utility>
#include <vector>

#include "coordinator/state/live_values.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/reader.h"

namespace inlier {

class SweepResults {
 public:
  // `database_path`: an inlier.db that exists.
  explicit SweepResults(std::filesystem::path database_path) : reader_(std::move(database_path), 1) {}
  ~SweepResults() { reader_.Stop(); }

  using Results = std::map<SweepId, std::vector<SweepValue>>;
  // Returns the best result of each measurement and setting for those `sweeps` that have been read. Reads the
  // others in the background, and forgets all other sweeps.
  Results Of(const std::vector<SweepId>& sweeps);

 private:
  std::vector<SweepValue> Read(SweepId sweep);

  Reader reader_;
  Results known_;                 // Of the sweeps of the latest call of Of.
  std::future<Results> reading_;  // The others of it. Ends before reader_.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_METRICS_SWEEP_RESULTS_H_
