// inlier-program.yaml: what a program of one's own is, its source, and the digest of that.
//
// Errors name the file, the place and the remedy. Thread safety: pure functions over the file system.
#ifndef INLIER_SPEC_PROGRAM_PROGRAM_DESCRIPTION_H_
#define INLIER_SPEC_PROGRAM_PROGRAM_DESCRIPTION_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/program.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

inline constexpr char kProgramFileName[] = "inlier-program.yaml";

// The fields of TrialSpec that sweeps of a program have whose model inlier evaluates; for the others they are nothing.
inline constexpr const char* kSettings[] = {"data", "attention", "quantization", "evaluation"};

// True for `evaluate: [inlier]`: the program's trained model, a folder of Hugging Face, is measured and quantized as ours.
bool InlierEvaluates(const v1::ProgramDescription& description);

// Problems of a description, wherever it comes from; paths are those of the file.
Problems FindProgramProblems(const v1::ProgramDescription& description);

// Reads and checks inlier-program.yaml of the program's folder. NotFound: there is none.
absl::StatusOr<v1::ProgramDescription> ReadProgram(const std::filesystem::path& folder);

// True for an image (ProgramEnvironment) that is a file.
inline bool IsImageFile(const std::string& image) { return image.ends_with(".sif"); }

// True for a path that `files` matches, whether it is there or not.
bool IsProgramFile(const v1::ProgramDescription& description, const std::string& path);

// The files of the program's identity, relative to its folder, sorted: those that `files` matches, its description and its
// environment's lock. InvalidArgument for a glob that matches nothing and for more than 10,000 files.
absl::StatusOr<std::vector<std::string>> ProgramFiles(const std::filesystem::path& folder,
                                                      const v1::ProgramDescription& description);

// SHA-256, lower-case hexadecimal, over the names and the contents of ProgramFiles.
absl::StatusOr<std::string> ProgramDigest(const std::filesystem::path& folder,
                                          const v1::ProgramDescription& description);

}  // namespace inlier

#endif  // INLIER_SPEC_PROGRAM_PROGRAM_DESCRIPTION_H_
