// A program of ours as a child of a test, its log in a file.
#ifndef INLIER_TESTS_WORKER_PROGRAM_H_
#define INLIER_TESTS_WORKER_PROGRAM_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files/file.h"

namespace inlier {

using Environment = std::map<std::string, std::string>;

// Killed when the test is over.
class Program {
 public:
  // With `--set` before each of `settings`, and then `more` words.
  Program(const std::string& program, const std::vector<std::string>& settings,
          const std::filesystem::path& log, const std::vector<std::string>& more = {},
          const Environment& environment = {})
      : log_(log) {
    std::vector<std::string> arguments = {program};
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ~Program() { Kill(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Signal(int signal) { ::kill(pid_, signal); }
  void Kill() {
    if (pid_ <= 0) return;
    Signal(SIGKILL);
    WaitForEnd();
  }
  // The wait status.
  int WaitForEnd() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return status;
  }
  std::string log() const { return ReadFile(log_).value_or(""); }

 private:
  const std::filesystem::path log_;
  pid_t pid_ = -1;
};

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_PROGRAM_H_
