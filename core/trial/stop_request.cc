#include "core/trial/stop_request.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/check.h"

namespace inlier {
namespace {

int wake_fd = -1;

void OnSignal(int) {
  const int error = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_fd, &one, sizeof(one));
  errno = error;
}

void AwaitSignal() {
  std::uint64_t count = 0;
  while (::read(wake_fd, &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

}  // namespace

void EndOnSignals(StopRequest& stop, std::function<void()> end_now) {
  INLIER_CHECK(wake_fd < 0);
  wake_fd = ::eventfd(0, EFD_CLOEXEC);
  INLIER_CHECK(wake_fd >= 0);
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  std::thread([&stop, end_now = std::move(end_now)] {
    constexpr auto kEndsByItself = std::chrono::milliseconds(500);
    constexpr auto kLook = std::chrono::milliseconds(20);
    AwaitSignal();
    stop.Ask();
    auto deadline = std::chrono::steady_clock::now() + kEndsByItself;
    while (std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kLook);
      // After the checkpoint there is no more than the outcome to write.
      if (stop.saving()) deadline = std::chrono::steady_clock::now() + kEndsByItself;
    }
    end_now();
  }).detach();
}

}  // namespace inlier
