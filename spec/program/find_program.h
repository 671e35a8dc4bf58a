// The program that a sweep's file names: `program: NAME`.
#ifndef INLIER_SPEC_PROGRAM_FIND_PROGRAM_H_
#define INLIER_SPEC_PROGRAM_FIND_PROGRAM_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "inlier/v1/program.pb.h"
#include "spec/schema/yaml_document.h"

namespace inlier {

// The program of the folder, with the digest of its files.
absl::StatusOr<v1::ProgramUse> UseOfProgram(const std::filesystem::path& folder);

// Takes `program` out of the document of a sweep. Its description and the digest of its files are read from
// inlier-program.yaml in the folder of `file`, where it has that name, or in the folder of that name there. An empty use:
// the sweep has no program. Errors have file, line and column.
absl::StatusOr<v1::ProgramUse> TakeProgram(const std::string& file, YamlDocument* document);

}  // namespace inlier

#endif  // INLIER_SPEC_PROGRAM_FIND_PROGRAM_H_
