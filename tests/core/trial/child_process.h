// inlier-trial as a child of a test: spec in, events out of descriptor 3, exit status.
#ifndef INLIER_TESTS_CORE_TRIAL_CHILD_PROCESS_H_
#define INLIER_TESTS_CORE_TRIAL_CHILD_PROCESS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/util/json_util.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

class TrialChild {
 public:
  // Starts `program arguments…` with a pipe as its input, its events into one at descriptor 3, and standard output and
  // error into `log`.
  TrialChild(const std::string& program, const std::vector<std::string>& arguments, const std::string& log) {
    int ends[2], input[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(input, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int out = ::open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      ::dup2(input[0], 0);
      ::dup2(out, 1);
      ::dup2(out, 2);
      // dup2 onto itself would keep the close-on-exec flag.
      if (ends[1] == 3) {
        ::fcntl(3, F_SETFD, 0);
      } else {
        ::dup2(ends[1], 3);
      }
      std::vector<char*> argv = {const_cast<char*>(program.c_str())};
      for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      ::execv(program.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    ::close(input[0]);
    input_ = input[1];
    events_ = ::fdopen(ends[0], "r");
  }
  ~TrialChild() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      Wait();
    }
    std::fclose(events_);
    CloseInput();
  }
  TrialChild(const TrialChild&) = delete;
  TrialChild& operator=(const TrialChild&) = delete;

  void Send(const std::string& line) {
    EXPECT_EQ(::write(input_, (line + "\n").data(), line.size() + 1), static_cast<ssize_t>(line.size() + 1));
  }
  void CloseInput() {
    if (input_ >= 0) ::close(std::exchange(input_, -1));
  }

  // The next event; nothing after the last.
  std::optional<v1::TrialEvent> Next() {
    char* line = nullptr;
    std::size_t capacity = 0;
    const ssize_t length = ::getline(&line, &capacity, events_);
    std::optional<v1::TrialEvent> event;
    if (length > 0) {
      event.emplace();
      const auto status = google::protobuf::util::JsonStringToMessage(
          std::string(line, static_cast<std::size_t>(length)), &*event);
      EXPECT_TRUE(status.ok()) << line;
    }
    std::free(line);
    return event;
  }

  std::vector<v1::TrialEvent> Rest() {
    std::vector<v1::TrialEvent> events;
    while (std::optional<v1::TrialEvent> event = Next()) events.push_back(*event);
    return events;
  }

  void Signal(int signal) { ::kill(pid_, signal); }

  // Waits until it has a handler for `signal`.
  void AwaitHandler(int signal) {
    const std::string status = "/proc/" + std::to_string(pid_) + "/status";
    for (unsigned long long caught = 0; (caught >> (signal - 1) & 1) == 0; ::usleep(5000)) {
      std::ifstream in(status);
      for (std::string word; in >> word && word != "SigCgt:";) {
      }
      if (!(in >> std::hex >> caught)) return;  // It has ended.
    }
  }

  // The exit code, or minus the signal that ended it.
  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
  std::FILE* events_ = nullptr;
};

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_TRIAL_CHILD_PROCESS_H_
