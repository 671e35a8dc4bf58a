// One sweep for the full-screen views: its latest update, and what they gathered from the earlier ones.
//
// Pure: updates and times are inputs. One thread.
#ifndef INLIER_CLI_TERMINAL_SWEEP_MODEL_H_
#define INLIER_CLI_TERMINAL_SWEEP_MODEL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "cli/notices.h"
#include "cli/terminal/time_left.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

class SweepModel {
 public:
  // `axes`: the order of the labels.
  explicit SweepModel(std::vector<std::string> axes = {}) : axes_(std::move(axes)) {}

  void Take(const v1::SweepUpdate& update, Timestamp now);

  bool known() const { return latest_.has_status(); }
  const v1::SweepUpdate& latest() const { return latest_; }
  const v1::SweepStatus& status() const { return latest_.status(); }
  const std::vector<std::string>& axes() const { return axes_; }
  const TimeLeft& time_left() const { return time_left_; }
  const Notices& notices() const { return notices_; }
  // Losses that the attempt has reported, oldest first, at most kLossesMax: of more, neighbours are averaged.
  const std::deque<double>& LossesOf(const v1::RunningAttempt& attempt) const;
  static constexpr std::size_t kLossesMax = 512;
  static constexpr std::size_t kReasonsMax = 200;  // Of the latest notices.

 private:
  struct Curve {
    std::deque<double> losses;
    std::uint64_t last_step = 0;
    std::uint64_t per_value = 1;  // Reports that a value is the mean of.
    std::uint64_t pending = 0;    // Of the last value.
  };
  // Stage and number of the attempt.
  using Key = std::pair<std::string, std::uint32_t>;

  static void AddLoss(Curve& curve, const v1::Progress& progress);

  std::vector<std::string> axes_;
  v1::SweepUpdate latest_;
  TimeLeft time_left_;
  Notices notices_;
  std::map<Key, Curve> curves_;  // Of the running attempts.
};

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_SWEEP_MODEL_H_
