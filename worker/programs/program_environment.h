// The environment of a program: this process' own, with what its description and the protocol add.
#ifndef INLIER_WORKER_PROGRAMS_PROGRAM_ENVIRONMENT_H_
#define INLIER_WORKER_PROGRAMS_PROGRAM_ENVIRONMENT_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/program.pb.h"

namespace inlier {

// "NAME=value" for each variable to set. The bin/ of its venv or conda environment comes first in PATH. FailedPrecondition
// names an environment that is not there, the places and the remedy.
absl::StatusOr<std::vector<std::string>> ProgramVariables(const std::filesystem::path& root,
                                                          const v1::ProgramDescription& description,
                                                          const std::filesystem::path& trial_file);

}  // namespace inlier

#endif  // INLIER_WORKER_PROGRAMS_PROGRAM_ENVIRONMENT_H_
