#include "worker/programs/program_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/processes/null_terminated.h"
#include "base/processes/other_user.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr int kChildEvents = 3;
constexpr auto kLeftBehindSeconds = std::chrono::seconds(10);

sigset_t HandledSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  // SIGHUP comes with the worker's end where the program is stopped then.
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaddset(&set, signal);
  return set;
}

bool OpenEvents(const ProgramCommand& command, FdPair& events) {
  if (command.events.empty()) return events.Open();
  // For both, so that it has no end before its first writer.
  events.read = ::open(command.events.c_str(), O_RDWR | O_CLOEXEC);
  events.write = ::fcntl(events.read, F_DUPFD_CLOEXEC, 0);
  return events.write >= 0;
}

// Kills the children that this process has, also those that came to it as their parents ended, until there are none. It does not
// wait in between: one that replaces itself by its own child again and again would be missed.
void KillLeftBehind() {
  const Timestamp end = MonotonicNow() + kLeftBehindSeconds;
  for (pid_t ended = 0; ended >= 0 && MonotonicNow() < end;) {
    std::ifstream children("/proc/thread-self/children");
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
  }
}

}  // namespace

void KillProgramsOf(const std::filesystem::path& folder) {
  const std::string mark = absl::StrCat(kTrialVariable, "=", folder.string(), "/");
  bool any = true;
  for (int round = 0; any && round < 100; ++round) {
    any = false;
    for (const std::filesystem::path& process : EntriesOf("/proc")) {
      pid_t pid = 0;
      if (!absl::SimpleAtoi(process.filename().string(), &pid)) continue;
      const absl::StatusOr<std::string> variables = ReadFile(process / "environ");
      if (variables.ok() && absl::StrContains(*variables, mark) && ::kill(pid, SIGKILL) == 0) any = true;
    }
  }
}

absl::Status ProgramProcess::Block() {
  const sigset_t signals = HandledSignals();
  if (::sigprocmask(SIG_BLOCK, &signals, nullptr) != 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    return ErrnoStatus("preparing to run a program");
  ::signal(SIGPIPE, SIG_IGN);
  // A signal that can be taken: what the program has started is in the group, and would outlive a process that is killed.
  if (::getpgrp() == ::getpid()) ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
  return absl::OkStatus();
}

void ProgramProcess::RunChild(const ProgramCommand& command, int input, int events, int failure) {
  const auto fail = [failure](const char* step) {
    const std::string report = absl::StrCat("cannot ", step, ": ", ::strerror(errno));
    [[maybe_unused]] const bool written = WriteAll(failure, report);
    ::_exit(127);
  };
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  for (const std::string& variable : command.variables) ::putenv(::strdup(variable.c_str()));
  if (::chdir(command.folder.c_str()) != 0) fail("enter its folder");
  if (const char* step = BecomeUser(command.user)) fail(step);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Another user would not have kept it.
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : command.cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &cpus);
  }
  if (!command.cpus.empty()) ::sched_setaffinity(0, sizeof(cpus), &cpus);
  if (::dup2(input, 0) < 0 || ::dup2(events, kChildEvents) < 0) fail("set up its descriptors");
  ::fcntl(kChildEvents, F_SETFD, 0);
  const std::vector<char*> words = NullTerminated(command.words);
  ::execvp(words[0], words.data());
  fail("execute it");
  std::abort();
}

absl::Status ProgramProcess::Start(const ProgramCommand& command) {
  FdPair events, replies, failure;
  in_container_ = !command.events.empty();
  const sigset_t signals = HandledSignals();
  signals_ = Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals_.fd() < 0 || !OpenEvents(command, events) || !replies.Open() || !failure.Open())
    return ErrnoStatus("cannot make the pipes of the program");
  // The program would not get a signal that came while its files were prepared.
  TakeSignals();
  if (stopped_) return absl::CancelledError("asked to stop");
  // Above the descriptors that the child sets up.
  const Descriptor events_end(::fcntl(events.write, F_DUPFD_CLOEXEC, 16));
  Descriptor failure_end(::fcntl(failure.write, F_DUPFD_CLOEXEC, 16));
  const Descriptor input_end(::fcntl(replies.read, F_DUPFD_CLOEXEC, 16));
  pid_ = ::fork();
  if (pid_ == 0) RunChild(command, input_end.fd(), events_end.fd(), failure_end.fd());
  if (pid_ < 0) return ErrnoStatus("cannot start the program");
  failure.CloseWrite();
  failure_end.Close();
  std::array<char, 512> report{};
  const ssize_t got = ::read(failure.read, report.data(), report.size());
  if (got > 0) {
    ::waitpid(pid_, nullptr, 0);
    return absl::UnavailableError(absl::StrCat(absl::StrJoin(command.words, " "), ": ",
                                               std::string(report.data(), static_cast<std::size_t>(got))));
  }
  events_ = Descriptor(events.ReleaseRead());
  replies_ = Descriptor(replies.ReleaseWrite());
  ::fcntl(events_.fd(), F_SETFL, O_NONBLOCK);
  ::fcntl(replies_.fd(), F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

bool ProgramProcess::ReadEvents(const std::function<void(std::string_view)>& on_bytes) {
  std::array<char, 65536> bytes;
  const ssize_t got = ::read(events_.fd(), bytes.data(), bytes.size());
  if (got < 0) return errno == EINTR;
  if (got > 0) on_bytes({bytes.data(), static_cast<std::size_t>(got)});
  return got > 0;
}

void ProgramProcess::TakeSignals() {
  signalfd_siginfo info;
  while (::read(signals_.fd(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGUSR1) {  // The worker has ended.
      // What is in a session of its own is not in the group. There is what removes a container once its program has ended.
      if (!in_container_) KillLeftBehind();
      ::kill(0, SIGKILL);
    }
    if (info.ssi_signo != SIGCHLD) stopped_ = true;
  }
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != pid_) continue;
    status_ = status;
    ended_ = true;
  }
}

int ProgramProcess::Wait(const std::function<void(std::string_view)>& on_bytes) {
  bool open = true;
  while (!ended_) {
    std::array<pollfd, 2> ready = {pollfd{signals_.fd(), POLLIN, 0},
                                   pollfd{open ? events_.fd() : -1, POLLIN, 0}};
    const double seconds = kill_at_ ? ToSeconds(*kill_at_ - MonotonicNow()) : 0;
    if (kill_at_ && seconds <= 0) {
      ignored_stop_ = true;
      kill_at_.reset();
      Kill();
    }
    if (::poll(ready.data(), ready.size(), kill_at_ ? 1 + static_cast<int>(seconds * 1000) : -1) < 0 &&
        errno != EINTR)
      break;
    if (ready[1].revents != 0) open = ReadEvents(on_bytes);
    if (ready[0].revents != 0) TakeSignals();
  }
  while (ReadEvents(on_bytes)) {
  }
  KillLeftBehind();
  return status_;
}

void ProgramProcess::Reply(const std::string& line) {
  [[maybe_unused]] const ssize_t written = ::write(replies_.fd(), line.data(), line.size());
}

void ProgramProcess::Stop(Duration grace) {
  stopped_ = true;
  kill_at_ = MonotonicNow() + grace;
  ::kill(pid_, SIGTERM);
}

void ProgramProcess::Kill() { ::kill(pid_, SIGKILL); }

}  // namespace inlier
