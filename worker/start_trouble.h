// Why this machine can start no trial now: inlier-trial is missing, cannot be executed, or does not find its libraries.
//
// The trial is not to blame: the worker takes nothing new, and tries the program, less and less often, until it runs.
//
// Thread safety: none; lives on the io_context's thread.
#ifndef INLIER_WORKER_START_TROUBLE_H_
#define INLIER_WORKER_START_TROUBLE_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <string>

#include "worker/attempt_settings.h"
#include "worker/processes/trial_process.h"

namespace inlier {

// A shell, or the loader, could not execute the program, which itself never ends with their status.
bool CouldNotRun(const ProcessExit& exit);

class StartTrouble {
 public:
  // `show` gets why, and an empty text when the program runs again. All of it outlives this.
  StartTrouble(boost::asio::io_context& io, boost::asio::thread_pool& disk, const AttemptSettings& settings,
               std::function<void(const std::string& why)> show);

  // A child could not be started.
  void NotStarted(const std::string& why);
  // A child has run: the next trouble is a new one.
  void Started() { failures_ = 0; }
  bool any() const { return tries_; }

 private:
  boost::asio::awaitable<void> TryUntilItRuns();

  boost::asio::io_context& io_;
  boost::asio::thread_pool& disk_;
  const AttemptSettings& settings_;
  const std::function<void(const std::string&)> show_;
  boost::asio::steady_timer timer_;
  bool tries_ = false;
  int failures_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Expired for a try that returns after the end.
};

}  // namespace inlier

#endif  // INLIER_WORKER_START_TROUBLE_H_
