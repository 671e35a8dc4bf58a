// A child process: spawned into its own process group, watched by a pidfd, read through two pipes, killed as
// a group.
//
// The child gets /dev/null or a pipe as input, one pipe for stdout and stderr, and descriptor 3 for its events;
// everything else is closed. It dies with the worker (PR_SET_PDEATHSIG, which follows the thread that spawned it: Start
// is called on the worker's main thread only) and is the first choice of the kernel when memory runs out. For a child on
// another machine that is true of the program that reaches it (ssh, srun), except that this ends with the child, and the
// child at the end of its input or of the signs of life in it.
//
// Thread safety: none; lives on the io_context's thread.
#ifndef INLIER_WORKER_PROCESSES_TRIAL_PROCESS_H_
#define INLIER_WORKER_PROCESSES_TRIAL_PROCESS_H_

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "worker/processes/spawn.h"

namespace inlier {

struct ProcessExit {
  int status = 0;          // Exit status, when signal is 0.
  int signal = 0;          // The signal that ended it.
  double cpu_seconds = 0;  // User and system, with its own reaped children.
  std::int64_t resident_bytes_max = 0;
};

class TrialProcess {
 public:
  using OnBytes = std::function<void(std::string_view)>;

  // Starts `command`. `on_events` gets the bytes on descriptor 3, `on_output` those on stdout and stderr, both on the
  // io_context's thread and only until WaitForExit has returned. An error names the step that failed and the program.
  static absl::StatusOr<std::unique_ptr<TrialProcess>> Start(boost::asio::io_context& io,
                                                             const Command& command, OnBytes on_events,
                                                             OnBytes on_output);
  // Kills the group if it lives, and reaps.
  ~TrialProcess();
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  pid_t pid() const { return pid_; }

  bool HasEnded() const;

  // Sends `signal` to the whole group; nothing after the end. Of a child elsewhere SIGKILL is the end of the input, and
  // kElsewhereGrace later the end of the program that reaches it.
  void Signal(int signal);
  static constexpr Duration kElsewhereGrace = std::chrono::seconds(5);
  // The time between two empty lines to a child elsewhere.
  static constexpr Duration kElsewhereBeat = std::chrono::seconds(20);

  // Binds the process' first thread to `cpus`; its other threads follow when it wants. Nothing after the end or for a
  // child elsewhere.
  void Bind(const std::vector<int>& cpus);

  // Writes to the child's input, without waiting. False where it is full or has no reader any more.
  // REQUIRES: Command::has_input.
  bool Send(std::string_view text);
  void CloseInput();

  // Waits until the child has ended, kills the rest of its group, reads the rest of the pipes, and reaps the child. Does
  // not wait for a runaway grandchild that keeps descriptors open. Call once.
  boost::asio::awaitable<ProcessExit> WaitForExit();
  // True when the child has ended, false after StopWaiting.
  boost::asio::awaitable<bool> WaitForEnd();
  void StopWaiting() { pidfd_.cancel(); }

  // Bytes that are in the pipes now go to the functions of before, later ones to these. Not from within them.
  void Redirect(OnBytes on_events, OnBytes on_output);

  // CPU seconds and resident bytes now, from /proc; zeros after the end and for a child elsewhere.
  double CpuSeconds() const;
  std::int64_t ResidentBytes() const;
  // The most resident bytes since the start, or since the last ForgetPeak.
  std::int64_t PeakResidentBytes() const;
  void ForgetPeak() const;

 private:
  struct Pipe;
  TrialProcess(boost::asio::io_context& io, pid_t pid, int pidfd);
  ProcessExit Reap();
  void Beat();
  void EndElsewhere();

  boost::asio::io_context& io_;
  pid_t pid_;
  bool reaped_ = false;
  boost::asio::posix::stream_descriptor pidfd_;
  int input_ = -1;
  bool elsewhere_ = false;
  boost::asio::steady_timer elsewhere_timer_;  // For the next beat; after the input's end kElsewhereGrace.
  std::shared_ptr<Pipe> events_, output_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Expired for the timer's handlers after the end.
};

}  // namespace inlier

#endif  // INLIER_WORKER_PROCESSES_TRIAL_PROCESS_H_
