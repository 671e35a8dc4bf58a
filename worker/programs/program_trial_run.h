// `inlier-worker test-program FOLDER [name=value ...] [--json] [--quiet]`, which `inlier program test` starts: runs the program in
// FOLDER as a worker would, from scratch, stopped in the middle and resumed, and evaluated, and names what it does wrong.
#ifndef INLIER_WORKER_PROGRAMS_PROGRAM_TRIAL_RUN_H_
#define INLIER_WORKER_PROGRAMS_PROGRAM_TRIAL_RUN_H_

#include <string>
#include <vector>

namespace inlier {

inline constexpr char kTestProgram[] = "test-program";

// The exit status: 0 where nothing is wrong, else 1; 2 where the program cannot be read.
int TestProgram(const std::vector<std::string>& arguments);

}  // namespace inlier

#endif  // INLIER_WORKER_PROGRAMS_PROGRAM_TRIAL_RUN_H_
