// A TrialProcess from its start to its end, for tests.
#ifndef INLIER_TESTS_WORKER_PROCESSES_RUN_COMMAND_H_
#define INLIER_TESTS_WORKER_PROCESSES_RUN_COMMAND_H_

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "worker/processes/trial_process.h"

namespace inlier {

struct Ran {
  ProcessExit exit;
  std::string events, output;
};

// Calls for the process while it runs: when it has started, and whenever it has written events.
struct RunHooks {
  std::function<void(TrialProcess&)> started = [](TrialProcess&) {};
  std::function<void(TrialProcess&)> on_events = [](TrialProcess&) {};
};

// Runs `command` to its end, at most a minute.
inline Ran RunCommand(boost::asio::io_context& io, const Command& command, const RunHooks& hooks = {}) {
  Ran ran;
  std::unique_ptr<TrialProcess> process;
  absl::StatusOr<std::unique_ptr<TrialProcess>> start = TrialProcess::Start(
      io, command,
      [&](std::string_view bytes) {
        ran.events += bytes;
        hooks.on_events(*process);
      },
      [&](std::string_view bytes) { ran.output += bytes; });
  EXPECT_TRUE(start.ok()) << start.status();
  process = *std::move(start);
  hooks.started(*process);
  bool ended = false;
  const auto story = [&]() -> boost::asio::awaitable<void> {
    ran.exit = co_await process->WaitForExit();
    ended = true;
  };
  boost::asio::co_spawn(io, story(), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run_for(std::chrono::seconds(60));
  EXPECT_TRUE(ended) << "the child did not end within a minute";
  io.restart();
  return ran;
}

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_PROCESSES_RUN_COMMAND_H_
