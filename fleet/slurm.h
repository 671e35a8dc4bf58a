// Slurm: sbatch, squeue and scancel as child processes with a time limit. No shell runs, and no line of text is made into
// arguments: each argument is one of the configuration, which is checked (fleet/config_check.h), or made here.
//
// A job runs one worker, as `exec` of a script that is the same for all; its arguments are the worker's. Jobs get a small
// environment: PATH, HOME, LANG and SLURM_CONF, and what options of the configuration add. Several jobs are one array.
//
// Thread safety: as an Engine; calls block for up to FleetConfig.call_seconds.
#ifndef INLIER_FLEET_SLURM_H_
#define INLIER_FLEET_SLURM_H_

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/run_program.h"
#include "fleet/engine.h"

namespace inlier {

class Slurm : public Engine {
 public:
  // `state_dir`: the coordinator's, absolute; the script and by default the jobs' output are in its folder fleet.
  explicit Slurm(std::filesystem::path state_dir);

  // Errors of all: Slurm's, with the program that failed.
  absl::StatusOr<std::vector<EngineJob>> List(const FleetStep& fleet) override;
  // Unclear where sbatch was killed or lost its connection after it had one.
  Submitted Submit(const FleetStep& fleet) override;
  absl::Status Cancel(const FleetStep& fleet) override;
  // Kills the program that runs.
  void Stop() override { stopping_ = true; }

 private:
  absl::StatusOr<ProgramEnd> Run(const v1::FleetConfig& config, const std::string& program,
                                 std::vector<std::string> arguments) const;
  // The script of all jobs, written where it is missing.
  absl::StatusOr<std::string> Script() const;

  const std::filesystem::path folder_;
  std::atomic<bool> stopping_{false};
};

}  // namespace inlier

#endif  // INLIER_FLEET_SLURM_H_
