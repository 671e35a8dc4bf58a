#include "worker/slots/trial_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/processes/usable_cpus.h"
#include "base/status.h"
#include "worker/machines/launch.h"
#include "worker/processes/trial_environment.h"
#include "worker/programs/program_roots.h"
#include "worker/programs/program_runner.h"

namespace inlier {

absl::StatusOr<Command> TrialCommand(const AttemptSettings& settings, const SlotPlan& slot,
                                     const v1::AttemptSpec& spec, std::vector<std::string> arguments,
                                     const std::filesystem::path& folder) {
  std::vector<std::string> changes = {absl::StrCat("OMP_NUM_THREADS=", slot.threads),
                                      absl::StrCat("MKL_NUM_THREADS=", slot.threads),
                                      absl::StrCat("CUDA_VISIBLE_DEVICES=", slot.cuda_visible)};
  if (!HasWaitPolicy()) changes.push_back(kShortSpin);
  std::vector<std::string> names = settings.trial_environment;
  std::string program = settings.trial_program;
  if (spec.has_program_root()) {
    const v1::ProgramRoot root = ProgramRootAt(settings, spec.spec().program().name(), spec.program_root());
    names.insert(names.end(), root.environment().begin(), root.environment().end());
    ASSIGN_OR_RETURN(program, OwnProgram());
    if (root.has_user()) arguments.insert(arguments.begin(), {"--user", root.user()});
    arguments.insert(arguments.begin(), kRunProgram);
  }
  Command command{.program = std::move(program),
                  .arguments = std::move(arguments),
                  .environment = TrialEnvironment(names, changes),
                  .working_folder = folder.string()};
  return slot.here() ? command : OnMachine(slot.launch, command);
}

void SetSlot(const SlotPlan& slot, v1::AttemptSpec& spec) {
  spec.set_threads(slot.threads);
  spec.mutable_cpus()->Assign(slot.cpus.begin(), slot.cpus.end());
  spec.set_device(slot.on_gpu() ? "cuda" : "cpu");
}

}  // namespace inlier
