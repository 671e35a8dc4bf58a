#include "worker/start_trouble.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/backoff.h"
#include "base/log.h"
#include "worker/disk_work.h"
#include "worker/worker_setup.h"

namespace inlier {
namespace {

namespace asio = boost::asio;

constexpr Backoff kTries{.first = std::chrono::seconds(1), .longest = std::chrono::seconds(30)};

}  // namespace

bool CouldNotRun(const ProcessExit& exit) {
  return exit.signal == 0 && (exit.status == 126 || exit.status == 127);
}

StartTrouble::StartTrouble(asio::io_context& io, asio::thread_pool& disk, const AttemptSettings& settings,
                           std::function<void(const std::string&)> show)
    : io_(io), disk_(disk), settings_(settings), show_(std::move(show)), timer_(io) {}

void StartTrouble::NotStarted(const std::string& why) {
  if (std::exchange(tries_, true)) return;
  spdlog::error("cannot_start_trials reason={} remedy=\"put the program back; it is tried until it runs\"",
                LogText(why));
  show_(why);
  asio::co_spawn(io_, TryUntilItRuns(), asio::detached);
}

asio::awaitable<void> StartTrouble::TryUntilItRuns() {
  const std::weak_ptr<int> alive = alive_;
  for (;;) {
    timer_.expires_after(kTries.Wait(++failures_, 0.5));
    boost::system::error_code error;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error || alive.expired()) co_return;
    const std::function<absl::Status()> run = [program = settings_.trial_program,
                                               environment = settings_.trial_environment] {
      return CheckTrialProgram(program, environment).status();
    };
    const absl::Status runs = co_await OnDisk(disk_, run);
    if (alive.expired()) co_return;
    if (runs.ok()) break;
    show_(std::string(runs.message()));
  }
  tries_ = false;
  spdlog::info("trials_can_start program={}", settings_.trial_program);
  show_("");
}

}  // namespace inlier
