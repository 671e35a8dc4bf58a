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

struct FoundProgram {
  std::filesystem::path folder;
  v1::ProgramUse use;  // As UseOfProgram; empty: the sweep has no program.
};

// Takes `program` out of the document of a sweep. It is described in the folder of `file`, where it has that name, or in the
// folder of that name there. Errors have file, line and column.
absl::StatusOr<FoundProgram> TakeProgram(const std::string& file, YamlDocument* document);

}  // namespace inlier

#endif  // INLIER_SPEC_PROGRAM_FIND_PROGRAM_H_
