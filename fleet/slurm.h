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

// The arguments and the output of Slurm's programs (slurm_text.cc), as pure functions.
//
// The arguments of sbatch for the submission of the step. `script`, `worker` and `output_folder`: absolute paths.
std::vector<std::string> SbatchArguments(const FleetStep& fleet, const std::string& script,
                                         const std::string& worker, const std::string& output_folder);

// The arguments of squeue: all jobs of this user in a form that ParseSqueue reads.
std::vector<std::string> SqueueArguments();

// The jobs of this fleet. Internal: the first line that is not of that form.
absl::StatusOr<std::vector<EngineJob>> ParseSqueue(const std::string& fleet_id, const std::string& output);

// How sbatch ended.
Submitted ParseSbatch(std::uint64_t number, const ProgramEnd& end);

// The first error that a program of Slurm printed, without its prefix; "" where it printed none.
std::string FirstError(const std::string& errors);

}  // namespace inlier

#endif  // INLIER_FLEET_SLURM_H_
