// Parts of inlier that are modules of its Python package (clients/python/inlier), run by the Python of INLIER_PYTHON, else python3.
//
// Thread safety: safe from any thread.
#ifndef INLIER_CLI_PROGRAMS_PYTHON_MODULE_H_
#define INLIER_CLI_PROGRAMS_PYTHON_MODULE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/connection/session.h"

namespace inlier {

// A module with a function main(), and what a user asked for that needs it.
struct PythonModule {
  const char* name;
  const char* needed_by;
};
inline constexpr PythonModule kOptimizeModule{"inlier.optimize", "sampling.optuna"};
inline constexpr PythonModule kImportanceModule{"inlier.importance", "--importance"};

// The command of python -m `module` with these arguments. Where a package is not installed it ends with a sentence.
std::vector<std::string> PythonCommand(const PythonModule& module, const std::vector<std::string>& arguments);

// FailedPrecondition where it could not run: Python, the package inlier or Optuna is not installed.
absl::Status CheckPython(const PythonModule& module);
// That Python itself cannot be started.
absl::Status NoPython(const PythonModule& module);

// Becomes the module, which asks the session's coordinator; returns where it cannot.
absl::Status BecomePython(const PythonModule& module, std::vector<std::string> arguments,
                          const Session& session);

}  // namespace inlier

#endif  // INLIER_CLI_PROGRAMS_PYTHON_MODULE_H_
