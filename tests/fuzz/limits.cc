#include "tests/fuzz/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/fuzz.h"

namespace inlier {
namespace {

constexpr suseconds_t kTickMicroseconds = 50'000;  // Of processor time: a short input has none.

// Of the present input, and read by the signal handler.
InputLimits limits_now;
double cpu_before;
std::int64_t resident_before;

double CpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Bytes that are resident now. Callable from a signal handler.
std::int64_t ResidentBytes() {
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[128];
  const ssize_t length = ::read(fd, text, sizeof(text));
  ::close(fd);
  // The second number: pages.
  std::int64_t pages = 0;
  int spaces = 0;
  for (ssize_t i = 0; i < length && spaces < 2; ++i) {
    if (text[i] == ' ') {
      ++spaces;
    } else if (spaces == 1) {
      pages = pages * 10 + (text[i] - '0');
    }
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

// The most that has ever been resident.
std::int64_t PeakBytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} << 10;
}

template <std::size_t kSize>
[[noreturn]] void Finding(const char (&text)[kSize]) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, kSize - 1);
  std::abort();
}

void Check(std::int64_t resident) {
  if (CpuSeconds() - cpu_before > limits_now.cpu_seconds)
    Finding("the input takes more processor time than tests/fuzz/limits.h allows\n");
  if (resident - resident_before > limits_now.memory_mib << 20)
    Finding("the input takes more memory than tests/fuzz/limits.h allows\n");
}

void OnTick(int) { Check(ResidentBytes()); }

// All threads' processor time moves the timer; 0 stops it.
void TickEvery(suseconds_t microseconds) {
  const itimerval timer{{0, microseconds}, {0, microseconds}};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

void FuzzWithinLimits(std::string_view input, const InputLimits& limits) {
  limits_now = limits;
  cpu_before = CpuSeconds();
  resident_before = ResidentBytes();
  const std::int64_t peak_before = PeakBytes();
  struct sigaction action {};
  action.sa_handler = OnTick;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  TickEvery(kTickMicroseconds);
  FuzzOne(input);
  TickEvery(0);
  // A peak below an earlier one is not known, and was within the limits then.
  const std::int64_t peak = PeakBytes();
  Check(peak > peak_before ? peak : ResidentBytes());
}

std::string LibFuzzerOptions() {
  const InputLimits limits;
  return absl::StrCat("-timeout=", limits.wall_seconds, " -malloc_limit_mb=", limits.memory_mib,
                      " -rss_limit_mb=", 4 * limits.memory_mib);
}

}  // namespace inlier
