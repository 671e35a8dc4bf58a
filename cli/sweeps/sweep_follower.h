// The updates of a sweep, through restarts of the coordinator.
//
// Thread safety: all calls from one thread; the stream is read on a thread of its own.
#ifndef INLIER_CLI_SWEEPS_SWEEP_FOLLOWER_H_
#define INLIER_CLI_SWEEPS_SWEEP_FOLLOWER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "cli/connection/session.h"

namespace inlier {

class SweepFollower {
 public:
  // `after`: number of the last notice shown, 0 for all of them; only new notices when absent. `patience`: longest outage of
  // the coordinator. REQUIRES: the session is connected, and outlives this.
  SweepFollower(Session& session, std::string sweep, std::optional<std::uint64_t> after, Duration patience);
  ~SweepFollower();

  // The next update, waiting at most `wait`; nullopt: none yet. Errors: the call was refused, or the coordinator has not
  // answered for the patience.
  absl::StatusOr<std::optional<v1::SweepUpdate>> Next(Duration wait);

  // The sweep has ended, and its last update was taken.
  bool over() const { return over_; }
  // How long the coordinator has not answered; nullopt while it does.
  std::optional<Duration> Silence() const;

 private:
  class Stream;

  Session& session_;
  const std::string sweep_;
  const Duration patience_;
  std::optional<std::uint64_t> sequence_;
  std::unique_ptr<Stream> stream_;  // Null between two tries.
  std::optional<Timestamp> next_try_;
  Timestamp answered_;
  int failures_ = 0;
  bool active_ = true;  // By the last update.
  bool over_ = false;
};

}  // namespace inlier

#endif  // INLIER_CLI_SWEEPS_SWEEP_FOLLOWER_H_
