// The state of a process, from the kernel, for tests of children.
#ifndef INLIER_TESTS_WORKER_PROCESS_STATE_H_
#define INLIER_TESTS_WORKER_PROCESS_STATE_H_

#include <sys/types.h>

#include <fstream>
#include <string>
#include <thread>

#include "base/time.h"

namespace inlier {

// The letter of /proc/<pid>/stat; '-' when there is no such process.
inline char StateOf(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text, '\0');  // Does not throw when the process goes between opening and reading.
  const std::size_t name_end = text.rfind(')');  // The name may hold anything.
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '-' : text[name_end + 2];
}

// Waits until the state is one of `letters`, at most a minute; whether it is.
inline bool ComesTo(pid_t pid, const std::string& letters) {
  const Timestamp deadline = MonotonicNow() + std::chrono::minutes(1);
  while (letters.find(StateOf(pid)) == std::string::npos) {
    if (MonotonicNow() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Ended; an orphan may stay a zombie for as long as its new parent, which is not ours, does not look.
inline bool IsGoneSoon(pid_t pid) { return ComesTo(pid, "-ZX"); }

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_PROCESS_STATE_H_
