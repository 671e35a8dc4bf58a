// Slurm: sbatch, squeue and scancel as child processes with a time limit. No shell runs, and no line of text is made into
// arguments: each argument is one of the configuration, which is checked (fleet/config_check.h), or made here.
//
// A job runs one worker, as `exec` of a script that is the same for all; its arguments are the worker's. Jobs get a small
// environment: PATH, HOME, LANG and SLURM_CONF, and what options of the configuration add. Several jobs are one array.
//
// Thread safety: safe; calls block for up to FleetConfig.call_seconds.
#ifndef INLIER_COORDINATOR_ENGINES_SLURM_H_
#define INLIER_COORDINATOR_ENGINES_SLURM_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/run_program.h"
#include "coordinator/fleet/fleet.h"

namespace inlier {

class Slurm {
 public:
  // `state_dir`: the coordinator's, absolute; the script and by default the jobs' output are in its folder fleet.
  // `must_stop`: ends a call early.
  Slurm(std::filesystem::path state_dir, std::function<bool()> must_stop);

  // The jobs of this fleet that Slurm lists, ended ones too. Errors: Slurm's, with the program that failed.
  absl::StatusOr<std::vector<EngineJob>> List(const FleetStep& fleet) const;

  // Asks for the submission of the step. Unclear where sbatch was killed or lost its connection after it had one.
  Submitted Submit(const FleetStep& fleet) const;

  // Ends jobs: their workers are asked to end. Jobs that are gone are no error.
  absl::Status Cancel(const FleetStep& fleet) const;

 private:
  absl::StatusOr<ProgramEnd> Run(const v1::FleetConfig& config, const std::string& program,
                                 std::vector<std::string> arguments) const;
  // The script of all jobs, written where it is missing.
  absl::StatusOr<std::string> Script() const;

  const std::filesystem::path folder_;
  const std::function<bool()> must_stop_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ENGINES_SLURM_H_
