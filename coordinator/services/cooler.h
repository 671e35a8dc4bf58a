// Has what has ended leave memory while the coordinator runs (cold_memory.h), a bounded part at a time, with
// the turn for what touches the state and without it for the disk.
//
// When the disk refuses, what is in memory stays there, and nothing more leaves it.
//
// Thread safety: none; everything having the turn.
#ifndef INLIER_COORDINATOR_SERVICES_COOLER_H_
#define INLIER_COORDINATOR_SERVICES_COOLER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "absl/status/status.h"
#include "base/time.h"
#include "coordinator/orchestration/orchestrator.h"
#include "coordinator/services/calls.h"

namespace inlier {

class Cooler {
 public:
  // All outlive the cooler.
  Cooler(boost::asio::io_context& io, Calls& calls, Orchestrator& orchestrator)
      : calls_(calls), orchestrator_(orchestrator), timer_(io) {}

  // Nothing happens when the orchestrator has no scratch file.
  void Start();
  void Stop();

 private:
  void WaitFor(std::chrono::milliseconds time);
  void Round();
  void Synced(const absl::Status& status);

  Calls& calls_;
  Orchestrator& orchestrator_;
  boost::asio::steady_timer timer_;
  Timestamp dropped_ = MonotonicNow();
  bool stopped_ = true;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_COOLER_H_
