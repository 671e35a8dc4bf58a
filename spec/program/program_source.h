// With which source a program runs: the commit of its folder's git repository and what differs from it, for people who read
// its numbers later.
//
// Nothing is written to the repository, and no code that it names runs: no filter, hook, program for differences, remote.
// Thread safety: pure function over the file system; waits for git.
#ifndef INLIER_SPEC_PROGRAM_PROGRAM_SOURCE_H_
#define INLIER_SPEC_PROGRAM_PROGRAM_SOURCE_H_

#include <filesystem>
#include <optional>

#include "inlier/v1/program.pb.h"

namespace inlier {

// Nullopt where the folder is in no git repository with a commit, or git is not there. What the difference leaves out, or why
// it is not known, are lines of it.
std::optional<v1::ProgramSource> SourceOfProgram(const std::filesystem::path& folder,
                                                 const v1::ProgramDescription& description);

}  // namespace inlier

#endif  // INLIER_SPEC_PROGRAM_PROGRAM_SOURCE_H_
