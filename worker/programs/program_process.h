// The process of a program: its events on a pipe, its replies on its standard input, its output to ours.
//
// Thread safety: none; one at a time, in a process of one thread.
#ifndef INLIER_WORKER_PROGRAMS_PROGRAM_PROCESS_H_
#define INLIER_WORKER_PROGRAMS_PROGRAM_PROCESS_H_

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/files/descriptor.h"
#include "base/time.h"

namespace inlier {

// The variable with the path of the file of its trial.
inline constexpr char kTrialVariable[] = "INLIER_TRIAL";

// Kills what runs of programs whose trial is in `folder`, by that variable: for the worker, where what led them was killed.
void KillProgramsOf(const std::filesystem::path& folder);

struct ProgramCommand {
  std::vector<std::string> words;      // The first is looked for in PATH, or below the folder.
  std::vector<std::string> variables;  // "NAME=value", over this process' own.
  std::filesystem::path folder;        // Its working folder.
  std::string user;                    // It runs as this one; empty: as this process.
  std::vector<int> cpus{};             // It is bound to them; none: as this process is.
  std::filesystem::path events{};      // A named pipe of its reports; empty: its descriptor 3.
};

class ProgramProcess {
 public:
  // SIGTERM and SIGINT, which this process' group gets too, end no wait: `stopped` is true then. Where this process leads
  // a group, all of the group ends with the parent.
  static absl::Status Block();

  // Unavailable names the command and the reason; Cancelled: this process was asked to stop before.
  absl::Status Start(const ProgramCommand& command);
  // Calls `on_bytes` with what it writes, until it has ended and all is read. Then kills what it has left behind. Its status
  // as waitpid(2) has it.
  int Wait(const std::function<void(std::string_view)>& on_bytes);
  // A line on its standard input; dropped where nothing reads it.
  void Reply(const std::string& line);
  // Sends it SIGTERM, and kills it where it has not ended after the grace.
  void Stop(Duration grace);
  // Kills it; Wait then ends.
  void Kill();
  bool stopped() const { return stopped_; }
  // It was killed after Stop.
  bool ignored_stop() const { return ignored_stop_; }

 private:
  [[noreturn]] void RunChild(const ProgramCommand& command, int input, int events, int failure);
  bool ReadEvents(const std::function<void(std::string_view)>& on_bytes);
  void TakeSignals();

  Descriptor events_, replies_, signals_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool in_container_ = false, ended_ = false, stopped_ = false, ignored_stop_ = false;
  std::optional<Timestamp> kill_at_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_PROGRAMS_PROGRAM_PROCESS_H_
