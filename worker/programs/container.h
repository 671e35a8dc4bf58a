// The container of a program whose environment is an image: the command of podman, docker or apptainer that runs it there as
// it would run here, with the same paths, descriptors and signals.
//
// In the container a shell keeps the protocol: descriptor 3 is a named pipe, replies and the end of the standard input come
// through it. At that end, which comes with the end of whatever has started the container, it kills the program.
// Thread safety: pure functions over the file system and the environment.
#ifndef INLIER_WORKER_PROGRAMS_CONTAINER_H_
#define INLIER_WORKER_PROGRAMS_CONTAINER_H_

#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/attempt.pb.h"
#include "worker/programs/program_process.h"

namespace inlier {

// The path of the program that runs images: `wanted`, a name or path of podman, docker or apptainer; nullopt: the first of
// them in PATH. Empty: none.
absl::StatusOr<std::string> FindContainerRuntime(const std::optional<std::string>& wanted);

// Puts the command of an attempt into a container of `image`, which reads the program's folder and writes the attempt's.
// `own`: the process' folder in that, where the named pipes are made. FailedPrecondition: it cannot run here, and the remedy.
absl::Status PutIntoContainer(const v1::AttemptSpec& spec, const std::string& image,
                              const std::filesystem::path& own, ProgramCommand& command);

// Removes what is left of that container where its command was killed.
void RemoveContainer(const v1::AttemptSpec& spec, const ProgramCommand& command);

}  // namespace inlier

#endif  // INLIER_WORKER_PROGRAMS_CONTAINER_H_
