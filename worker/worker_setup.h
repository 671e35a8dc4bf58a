// Derives the parts of a worker from its WorkerConfig, and checks them before it takes work.
#ifndef INLIER_WORKER_WORKER_SETUP_H_
#define INLIER_WORKER_WORKER_SETUP_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/config.pb.h"
#include "rpc/credentials.h"
#include "worker/gpus/gpu_inventory.h"

namespace inlier {

// Fills the defaults of data_dir (of the build), cache_dir, trial_program (in the folder of this program) and name (of
// the host); makes paths absolute. Checks the coordinator's address and the names of trial_environment.
absl::Status ResolveWorkerConfig(v1::WorkerConfig& config);

// Makes the folders below state_dir and cache_dir; an error when one cannot be written.
absl::Status PrepareStateFolder(const v1::WorkerConfig& config);

// The worker's credentials; reads and checks the files. InvalidArgument also when http_listen would serve
// other machines without protection.
absl::StatusOr<ClientSecurity> SecurityOf(const v1::WorkerConfig& config);

struct TrialProgram {
  std::string version_text;  // First line of its --version.
  bool has_cuda = false;
};
// Runs `program --version` in a trial's environment (trial_environment.h). The error names the program, what it printed
// (the loader's message when LibTorch is missing) and the remedy.
absl::StatusOr<TrialProgram> CheckTrialProgram(const std::string& program,
                                               const std::vector<std::string>& further_environment = {});

std::string HostName();

}  // namespace inlier

#endif  // INLIER_WORKER_WORKER_SETUP_H_
