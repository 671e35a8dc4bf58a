// The memory that a piece of work takes, measured in a child process.
#ifndef INLIER_TESTS_SUPPORT_PEAK_MEMORY_H_
#define INLIER_TESTS_SUPPORT_PEAK_MEMORY_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>

namespace inlier {

// Memory of this process in MiB: "VmRSS" now, "VmHWM" at most so far.
inline double ProcessMib(const std::string& name) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    double kib = 0;
    if (word == name + ":" && in >> kib) return kib / 1024;
  }
  return -1;
}

// Most MiB that `work` takes in addition to those of the process before. It runs in a fork of the test, so
// that its memory is its own; expectations in it do not count.
inline double PeakMib(const std::function<void()>& work) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const double before = ProcessMib("VmRSS");
    work();
    const double taken = ProcessMib("VmHWM") - before;
    [[maybe_unused]] const ssize_t written = ::write(ends[1], &taken, sizeof(taken));
    ::_exit(0);
  }
  ::close(ends[1]);
  double taken = 1e9;  // A child that dies has taken too much.
  EXPECT_EQ(::read(ends[0], &taken, sizeof(taken)), static_cast<ssize_t>(sizeof(taken)));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return taken;
}

}  // namespace inlier

#endif  // INLIER_TESTS_SUPPORT_PEAK_MEMORY_H_
