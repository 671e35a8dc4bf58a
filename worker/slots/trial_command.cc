#include "worker/slots/trial_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/processes/usable_cpus.h"
#include "worker/machines/launch.h"
#include "worker/processes/trial_environment.h"

namespace inlier {

absl::StatusOr<Command> TrialCommand(const AttemptSettings& settings, const SlotPlan& slot,
                                     std::vector<std::string> arguments,
                                     const std::filesystem::path& folder) {
  std::vector<std::string> changes = {absl::StrCat("OMP_NUM_THREADS=", slot.threads),
                                      absl::StrCat("MKL_NUM_THREADS=", slot.threads),
                                      absl::StrCat("CUDA_VISIBLE_DEVICES=", slot.cuda_visible)};
  if (!HasWaitPolicy()) changes.push_back(kShortSpin);
  Command command{.program = settings.trial_program,
                  .arguments = std::move(arguments),
                  .environment = TrialEnvironment(settings.trial_environment, changes),
                  .working_folder = folder.string()};
  return slot.here() ? command : OnMachine(slot.launch, command);
}

void SetSlot(const SlotPlan& slot, v1::AttemptSpec& spec) {
  spec.set_threads(slot.threads);
  spec.mutable_cpus()->Assign(slot.cpus.begin(), slot.cpus.end());
  spec.set_device(slot.on_gpu() ? "cuda" : "cpu");
}

}  // namespace inlier
