// How inlier-trial is started in a slot.
//
// Thread safety: reads the environment of the process, which nothing here changes.
#ifndef INLIER_WORKER_SLOTS_TRIAL_COMMAND_H_
#define INLIER_WORKER_SLOTS_TRIAL_COMMAND_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/attempt.pb.h"
#include "worker/attempt_settings.h"
#include "worker/processes/trial_process.h"
#include "worker/slots/slot_plan.h"

namespace inlier {

// With the environment for the slot's threads and GPU; `folder` is its working folder. On a further machine: what starts
// it there (worker/machines/launch.h). For a program of one's own (AttemptSpec.program_root) its runner, in inlier-trial's
// place.
absl::StatusOr<Command> TrialCommand(const AttemptSettings& settings, const SlotPlan& slot,
                                     const v1::AttemptSpec& spec, std::vector<std::string> arguments,
                                     const std::filesystem::path& folder);

// The fields of the spec that the slot decides.
void SetSlot(const SlotPlan& slot, v1::AttemptSpec& spec);

}  // namespace inlier

#endif  // INLIER_WORKER_SLOTS_TRIAL_COMMAND_H_
