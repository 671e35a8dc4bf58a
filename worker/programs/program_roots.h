// The programs of one's own that a worker's owner lets it run (`programs` and `program_roots` of its configuration).
//
// Thread safety: pure functions over the file system.
#ifndef INLIER_WORKER_PROGRAMS_PROGRAM_ROOTS_H_
#define INLIER_WORKER_PROGRAMS_PROGRAM_ROOTS_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/trial_spec.pb.h"
#include "worker/attempt_settings.h"

namespace inlier {

// Checks a root before the worker takes work: its folder and description, its user, and that this user cannot read the files
// of `config` with a token or a key. Its path is absolute.
absl::Status CheckProgramRoot(const v1::ProgramRoot& root, const v1::WorkerConfig& config);

// Where programs run as other users: closes to them what is in state_dir, but the way to the folders of attempts.
// InvalidArgument: one of them cannot go that way.
absl::Status CloseState(const v1::WorkerConfig& config);

// The digest of the source that a trial is of; empty where only its name is known.
const std::string& SourceOf(const v1::ProgramTrial& program);

// The program of that name; of several, that with the source that is wanted. InvalidArgument: this worker may not run it.
absl::StatusOr<v1::ProgramRoot> FindProgramRoot(const AttemptSettings& settings,
                                                const v1::ProgramTrial& wanted);

// The entry of `programs` for a program that was found in `folder`; without one, the program runs as the worker's own user.
v1::ProgramRoot ProgramRootAt(const AttemptSettings& settings, const std::string& name,
                              const std::string& folder);

// Makes the folder of an attempt. Where programs run as other users, none of them but that of `spec` gets into it.
absl::Status MakeClosedFolder(const AttemptSettings& settings, const v1::AttemptSpec& spec,
                              const std::filesystem::path& folder);

// The path of this program, which runs itself in a trial's place.
absl::StatusOr<std::string> OwnProgram();

}  // namespace inlier

#endif  // INLIER_WORKER_PROGRAMS_PROGRAM_ROOTS_H_
