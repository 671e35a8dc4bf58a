// The lines that an attempt writes to its log while it works: few, so that the database stays small.
#ifndef INLIER_CORE_TRIAL_PROGRESS_LOG_H_
#define INLIER_CORE_TRIAL_PROGRESS_LOG_H_

#include <optional>
#include <string>

#include "base/time.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

class ProgressLog {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(30);

  // "train 82/400 (20 %), loss 5.298, 1.42 updates/s, about 4 min left": for the last update of a training, and for other
  // progress when kEvery has passed since the line before, or since the first report.
  std::optional<std::string> Line(const v1::Progress& progress, Timestamp now);

 private:
  std::optional<Timestamp> last_;
};

// "started on vm, cpu, 2 threads: 104,000 parameters, inlier 0.1.0"
std::string StartedLine(const v1::Started& started);
// "SUCCEEDED after 62 s", "FAILED, OUT_OF_MEMORY after 62 s: message"
std::string EndedLine(const v1::Outcome& outcome, Duration passed);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_PROGRESS_LOG_H_
