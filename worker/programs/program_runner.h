// `inlier-worker run-program [--user NAME] SPEC.json`: an attempt of a program of one's own, between the worker, for which
// it is in the place of inlier-trial, and the program (docs/reference/protocol.md).
//
// `inlier-worker program-digest SPEC.json` prints the digest of the program's files, as `inlier-trial digest` does of data.
#ifndef INLIER_WORKER_PROGRAMS_PROGRAM_RUNNER_H_
#define INLIER_WORKER_PROGRAMS_PROGRAM_RUNNER_H_

#include <string>
#include <vector>

namespace inlier {

inline constexpr char kRunProgram[] = "run-program";
inline constexpr char kProgramDigest[] = "program-digest";

// The exit status: 0 where the attempt has a result, 1 where it failed, 75 where it was stopped.
int RunProgram(const std::vector<std::string>& arguments);
int PrintProgramDigest(const std::string& spec_file);

}  // namespace inlier

#endif  // INLIER_WORKER_PROGRAMS_PROGRAM_RUNNER_H_
