// The environment of a trial: what programs, LibTorch and the GPU's libraries need, and nothing else of the
// worker's own, which may hold tokens and keys.
//
// Thread safety: reads the environment of the process, which nothing here changes.
#ifndef INLIER_WORKER_PROCESSES_TRIAL_ENVIRONMENT_H_
#define INLIER_WORKER_PROCESSES_TRIAL_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <vector>

namespace inlier {

// The variables of this process that trials get, as "NAME=value": the usual ones and those that `further` names (NAME, or
// the beginning of names with * at its end), without secret ones, and with `changes` ("NAME=value") put over them.
std::vector<std::string> TrialEnvironment(const std::vector<std::string>& further,
                                          const std::vector<std::string>& changes);

// True for inlier's own tokens.
bool IsSecretVariable(std::string_view name);

}  // namespace inlier

#endif  // INLIER_WORKER_PROCESSES_TRIAL_ENVIRONMENT_H_
