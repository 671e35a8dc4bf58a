// The further machines of a worker: those of its configuration, and the further nodes of its job of Slurm.
//
// A worker with machines has the slots of all of them, so that a gang's processes may be on several while one worker
// holds its lease. The machines share state_dir, data_dir, cache_dir and the programs, at the same paths.
#ifndef INLIER_WORKER_MACHINES_FIND_MACHINES_H_
#define INLIER_WORKER_MACHINES_FIND_MACHINES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/machine.pb.h"
#include "worker/slots/slot_plan.h"

namespace inlier {

// Asks each further machine for its slots, and adds them to `slots`, those of the worker's own machine, and its memory to
// `memory_mib`. Without machines nothing changes. Takes about a second a machine. `variable(name)`: of the environment; ""
// where there is none. An error names the machine, the cause and the remedy. REQUIRES: ResolveWorkerConfig.
absl::Status AddMachines(const v1::WorkerConfig& config,
                         const std::function<std::string(const char*)>& variable,
                         std::vector<SlotPlan>& slots, std::uint64_t& memory_mib);

// The parts of AddMachines, for their tests.
// The last line of `text` that is a report. Of another version of inlier: FailedPrecondition.
absl::StatusOr<v1::MachineReport> ReadMachineReport(const std::string& text);
// The value after NodeAddr= in the output of `scontrol show node`; empty: there is none.
std::string NodeAddressOf(const std::string& scontrol);

}  // namespace inlier

#endif  // INLIER_WORKER_MACHINES_FIND_MACHINES_H_
