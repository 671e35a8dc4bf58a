// The time that is left, without jumps: the moment of the end is a moving average of the coordinator's estimates, and it is
// rounded as coarsely as it is uncertain.
//
// Pure; one thread.
#ifndef INLIER_CLI_TERMINAL_TIME_LEFT_H_
#define INLIER_CLI_TERMINAL_TIME_LEFT_H_

#include <optional>
#include <string>

#include "base/time.h"

namespace inlier {

class TimeLeft {
 public:
  // An estimate of `seconds` (absent: not known), made at `now`.
  void Observe(std::optional<double> seconds, Timestamp now);
  // "about 12 min left"; empty when it is not known.
  std::string Text(Timestamp now) const;
  std::optional<double> Seconds(Timestamp now) const;

 private:
  std::optional<Timestamp> end_;
  Timestamp first_, observed_;
};

// "less than a minute", "12 min", "2 h 10 min", "3 days 4 h": rounded to about a tenth.
std::string RoundedDuration(double seconds);

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_TIME_LEFT_H_
