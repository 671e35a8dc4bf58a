// What Slurm's programs take and print. Pure.
#ifndef INLIER_FLEET_SLURM_TEXT_H_
#define INLIER_FLEET_SLURM_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/run_program.h"
#include "fleet/engine.h"

namespace inlier {

// Of sbatch, for the submission of the step. `script`, `worker` and `output_folder`: absolute paths.
std::vector<std::string> SbatchArguments(const FleetStep& fleet, const std::string& script,
                                         const std::string& worker, const std::string& output_folder);

// Of squeue: all jobs of this user in a form that ParseSqueue reads.
std::vector<std::string> SqueueArguments();

// The jobs of this fleet. Internal: the first line that is not of that form.
absl::StatusOr<std::vector<EngineJob>> ParseSqueue(const std::string& fleet_id, const std::string& output);

// How sbatch ended.
Submitted ParseSbatch(std::uint64_t number, const ProgramEnd& end);

// The first error that a program of Slurm printed, without its prefix; "" where it printed none.
std::string FirstError(const std::string& errors);

}  // namespace inlier

#endif  // INLIER_FLEET_SLURM_TEXT_H_
