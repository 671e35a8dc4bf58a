#include "base/running_time.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace inlier {
namespace {

std::atomic<std::int64_t> suspended_ns = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // A signal handler adds to it.

void OnContinue(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (info->si_code != SI_QUEUE || info->si_pid != ::getppid()) return;
  AddSuspended(std::chrono::milliseconds(reinterpret_cast<std::intptr_t>(info->si_value.sival_ptr)));
}

}  // namespace

Timestamp RunningNow() { return MonotonicNow() - Duration(suspended_ns.load()); }

void AddSuspended(Duration time) {
  if (time > Duration::zero()) suspended_ns += time.count();
}

void CountSuspensionsByParent() {
  struct sigaction action = {};
  action.sa_sigaction = OnContinue;
  // Calls that were interrupted go on as they do without a handler.
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGCONT, &action, nullptr);
}

}  // namespace inlier
