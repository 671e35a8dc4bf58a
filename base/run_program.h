// Runs another program to its end, with a time limit.
//
// Thread safety: safe; the call blocks.
#ifndef INLIER_BASE_RUN_PROGRAM_H_
#define INLIER_BASE_RUN_PROGRAM_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"

namespace inlier {

struct ProgramCall {
  std::string program{};                   // A path.
  std::vector<std::string> arguments{};    // Without the program.
  std::vector<std::string> environment{};  // The whole of it, NAME=value.
  std::string input{};                     // Its standard input.
  Duration limit = std::chrono::seconds(30);
  std::size_t output_bytes_max = 2000;  // Of each output; of longer ones the end is kept.
  bool join_errors = false;             // Its standard error is a part of its output.
};

struct ProgramEnd {
  std::optional<int> status;  // As waitpid(2) has it; nullopt: killed at the limit or by must_stop.
  std::string output{};       // Standard output.
  std::string errors{};       // Standard error.

  bool Succeeded() const { return status == 0; }
  // "it ended with status 2", "it was ended by signal 9 (Killed)". REQUIRES: status.
  std::string HowText() const;
};

// Runs the program without a shell, in a process group of its own and in the folder "/". The group is killed at
// the limit, or within 20 ms after `must_stop` is true. Fails where the program cannot be started.
absl::StatusOr<ProgramEnd> RunToEnd(const ProgramCall& call, const std::function<bool()>& must_stop);

// InvalidArgument, with the remedy, unless `path` is absolute and an executable that only root and this user can write.
absl::Status CheckProgram(const std::string& path);

// The output and errors of a program that succeeds. Unavailable: "NAME: it ended with status 2; it printed: …".
absl::StatusOr<std::string> OutputOf(ProgramCall call, const std::string& name);

}  // namespace inlier

#endif  // INLIER_BASE_RUN_PROGRAM_H_
