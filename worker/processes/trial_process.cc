#include "worker/processes/trial_process.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/files/descriptor.h"
#include "base/status.h"
#include "base/time.h"

namespace inlier {
namespace {

namespace asio = boost::asio;

// Most bytes read from a pipe after the child has ended: more than a pipe holds, less than a runaway
// grandchild can write.
constexpr size_t kLeftOverBytesMax = 4 << 20;

ProcessExit ExitOf(int status, const rusage& usage) {
  ProcessExit exit;
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
  } else {
    exit.status = WEXITSTATUS(status);
  }
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  exit.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  exit.resident_bytes_max = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  return exit;
}

}  // namespace

// The reading end of a pipe and the loop that reads it. The loop shares it, so it may end after the process
// object.
struct TrialProcess::Pipe : std::enable_shared_from_this<Pipe> {
  Pipe(asio::io_context& io, int fd, OnBytes on_bytes) : stream(io, fd), on_bytes(std::move(on_bytes)) {
    stream.non_blocking(true);
  }

  // Only waiting is asynchronous, never the reading: bytes that the reactor had already taken out of the pipe
  // would be lost or overtaken when Close() comes before their handler.
  void Read() {
    const auto on_ready = [self = shared_from_this()](boost::system::error_code error) {
      if (self->closed || error) return;
      const size_t count = self->stream.read_some(asio::buffer(self->buffer), error);
      if (count > 0) self->on_bytes(std::string_view(self->buffer.data(), count));
      // An error is the end of the stream, usually.
      if (self->closed || (error && error != asio::error::would_block)) return;
      self->Read();
    };
    stream.async_wait(asio::posix::stream_descriptor::wait_read, on_ready);
  }

  // Reads the available bytes.
  void Drain() {
    boost::system::error_code error;
    for (size_t total = 0; total < kLeftOverBytesMax;) {
      const size_t count = stream.read_some(asio::buffer(buffer), error);
      if (error || count == 0) break;
      on_bytes(std::string_view(buffer.data(), count));
      total += count;
    }
  }

  void Close(bool drain) {
    if (std::exchange(closed, true)) return;
    if (drain) Drain();
    boost::system::error_code error;
    on_bytes = nullptr;
    stream.close(error);
  }

  asio::posix::stream_descriptor stream;
  OnBytes on_bytes;
  bool closed = false;
  std::array<char, 64 << 10> buffer;
};

absl::StatusOr<std::unique_ptr<TrialProcess>> TrialProcess::Start(asio::io_context& io,
                                                                  const Command& command, OnBytes on_events,
                                                                  OnBytes on_output) {
  FdPair events, output, input;
  if (!events.Open() || !output.Open() || (command.has_input && !input.Open()))
    return ErrnoStatus("cannot make a pipe for a child");
  ASSIGN_OR_RETURN(const Spawned spawned, Spawn(command, input.read, events.write, output.write));
  std::unique_ptr<TrialProcess> process(new TrialProcess(io, spawned.pid, spawned.pidfd));
  process->elsewhere_ = command.elsewhere;
  process->input_ = input.ReleaseWrite();
  if (command.has_input) ::fcntl(process->input_, F_SETFL, O_NONBLOCK);
  process->events_ = std::make_shared<Pipe>(io, events.ReleaseRead(), std::move(on_events));
  process->output_ = std::make_shared<Pipe>(io, output.ReleaseRead(), std::move(on_output));
  if (command.elsewhere) process->Beat();
  process->events_->Read();
  process->output_->Read();
  return process;
}

TrialProcess::TrialProcess(asio::io_context& io, pid_t pid, int pidfd)
    : io_(io), pid_(pid), pidfd_(io, pidfd), elsewhere_timer_(io) {}

TrialProcess::~TrialProcess() {
  if (!reaped_ && elsewhere_) EndElsewhere();
  if (!reaped_) Reap();
  if (events_) events_->Close(/*drain=*/false);
  if (output_) output_->Close(/*drain=*/false);
  CloseInput();
}

bool TrialProcess::HasEnded() const {
  siginfo_t info{};
  return reaped_ || (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     info.si_pid == pid_);
}

void TrialProcess::Signal(int signal) {
  if (reaped_) return;
  if (!elsewhere_) {
    ::kill(-pid_, signal);
  } else if (signal != SIGKILL) {
    Send(absl::StrCat(::sigabbrev_np(signal), "\n"));
  } else if (input_ >= 0) {
    CloseInput();
    elsewhere_timer_.expires_after(kElsewhereGrace);
    elsewhere_timer_.async_wait([pid = pid_, alive = std::weak_ptr<int>(alive_)](const auto& error) {
      if (!error && !alive.expired()) ::kill(-pid, SIGKILL);
    });
  }
}

void TrialProcess::Beat() {
  if (input_ < 0) return;  // It is being ended, and that has the timer.
  Send("\n");
  elsewhere_timer_.expires_after(kElsewhereBeat);
  elsewhere_timer_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const auto& error) {
    if (!error && !alive.expired()) Beat();
  });
}

// Waits for the end of the input to get there: with the program that reaches the child, nothing would.
void TrialProcess::EndElsewhere() {
  CloseInput();
  pollfd ended = {pidfd_.native_handle(), POLLIN, 0};
  ::poll(&ended, 1, static_cast<int>(ToSeconds(kElsewhereGrace) * 1000));
}

void TrialProcess::Bind(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (!reaped_ && !elsewhere_) ::sched_setaffinity(pid_, sizeof(set), &set);
}

ProcessExit TrialProcess::Reap() {
  INLIER_CHECK(!reaped_);
  elsewhere_timer_.cancel();
  alive_.reset();
  // While the child is a zombie (or alive), its number is its own, and no other group is killed here.
  ::kill(-pid_, SIGKILL);
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  const ProcessExit exit = ExitOf(status, usage);
  if (!elsewhere_) return exit;
  // A shell adds 128 to the number of a signal. What the child used is not known.
  if (exit.status > 128 && exit.status < 128 + NSIG) return {.signal = exit.status - 128};
  return {.status = exit.status, .signal = exit.signal};
}

bool TrialProcess::Send(std::string_view text) {
  if (input_ < 0) return false;
  ssize_t put = 0;
  do {
    put = ::write(input_, text.data(), text.size());  // All or nothing: no longer than PIPE_BUF.
  } while (put < 0 && errno == EINTR);
  return put == static_cast<ssize_t>(text.size());
}

void TrialProcess::CloseInput() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

void TrialProcess::Redirect(OnBytes on_events, OnBytes on_output) {
  events_->Drain();
  output_->Drain();
  events_->on_bytes = std::move(on_events);
  output_->on_bytes = std::move(on_output);
}

asio::awaitable<bool> TrialProcess::WaitForEnd() {
  boost::system::error_code error;
  co_await pidfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                             asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

asio::awaitable<ProcessExit> TrialProcess::WaitForExit() {
  co_await WaitForEnd();
  const ProcessExit exit = Reap();
  events_->Close(/*drain=*/true);
  output_->Close(/*drain=*/true);
  co_return exit;
}

double TrialProcess::CpuSeconds() const {
  if (reaped_ || elsewhere_) return 0;
  std::ifstream in(absl::StrCat("/proc/", pid_, "/stat"));
  std::string line;
  std::getline(in, line);
  const size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return 0;
  std::istringstream rest(line.substr(end_of_name + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;  // The state and ten numbers precede utime.
  double user = 0, system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::int64_t TrialProcess::ResidentBytes() const {
  if (reaped_ || elsewhere_) return 0;
  std::ifstream in(absl::StrCat("/proc/", pid_, "/statm"));
  std::int64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::int64_t TrialProcess::PeakResidentBytes() const {
  if (reaped_) return 0;
  std::ifstream in(absl::StrCat("/proc/", pid_, "/status"));
  for (std::string line; std::getline(in, line);) {
    std::int64_t kib = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %ld kB", &kib) == 1) return kib * 1024;
  }
  return 0;
}

void TrialProcess::ForgetPeak() const {
  if (!reaped_) std::ofstream(absl::StrCat("/proc/", pid_, "/clear_refs")) << "5";
}

}  // namespace inlier
