// Commands on further machines: those with slots of this worker that it reaches by another program (ssh, srun).
//
// A trial there is started by a script in its folder, which the machines share: what it runs, and its environment, need no
// quoting for the program between. That program's input, outputs and status are the script's: events come on its output,
// the log on its errors, signals as lines of the input, empty lines as a sign of life. The end of the input and a silence of
// kSilenceMax kill the trial, so that nothing stays behind on a machine that the worker cannot reach any more.
//
// Thread safety: functions over the file system.
#ifndef INLIER_WORKER_MACHINES_LAUNCH_H_
#define INLIER_WORKER_MACHINES_LAUNCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "worker/processes/spawn.h"

namespace inlier {

inline constexpr char kStartScriptName[] = "start.sh";

// `launch` with {machine} replaced by `machine`. InvalidArgument where no word has it, or the name is not valid.
absl::StatusOr<std::vector<std::string>> LaunchWords(const std::vector<std::string>& launch,
                                                     const std::string& machine);

// InvalidArgument where a shell would read `path` as something else: ssh passes words through one.
absl::Status CheckPlainPath(const std::string& path, const std::string& what);

inline constexpr Duration kSilenceMax = std::chrono::minutes(3);

// `command`, started on the machine of these words. Writes the script into its working folder.
absl::StatusOr<Command> OnMachine(const std::vector<std::string>& launch, const Command& command,
                                  Duration silence_max = kSilenceMax);

// Its program and arguments, started there without a script; the output is on stdout. For checks.
Command DirectlyOnMachine(const std::vector<std::string>& launch, const std::vector<std::string>& words);

}  // namespace inlier

#endif  // INLIER_WORKER_MACHINES_LAUNCH_H_
