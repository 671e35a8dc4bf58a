// The state of a process, from the kernel, for tests of children.
#ifndef INLIER_TESTS_WORKER_PROCESS_STATE_H_
#define INLIER_TESTS_WORKER_PROCESS_STATE_H_

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/files/file.h"
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

// The process that has `argument` and a handler for SIGTERM; waits for it, at most a minute.
inline pid_t ProcessThatCatchesSigterm(const std::string& argument) {
  const Timestamp deadline = MonotonicNow() + std::chrono::minutes(1);
  while (MonotonicNow() < deadline) {
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0 ||
          ReadSmallFile(entry.path() / "cmdline", 1 << 16).value_or("").find(argument) == std::string::npos)
        continue;
      const std::string status = ReadSmallFile(entry.path() / "status", 1 << 16).value_or("");
      const std::size_t caught = status.find("SigCgt:");
      if (caught == std::string::npos) continue;
      const std::uint64_t mask = std::strtoull(status.c_str() + caught + 8, nullptr, 16);
      if ((mask >> (SIGTERM - 1) & 1) != 0) return pid;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return -1;
}

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_PROCESS_STATE_H_
