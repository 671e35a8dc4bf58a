// inlier edit: replaces the specification of a sweep while it runs.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/sweep_submission.h"
#include "spec/schema/overrides.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {
namespace {

struct EditArguments {
  std::string sweep;
  std::string file;
  std::string scale;
  std::vector<std::string> settings;
  bool yes = false;
};

// The current sweep, or the file if given, with the settings applied.
absl::StatusOr<v1::EditSweepRequest> MakeRequest(Session& session, const EditArguments& arguments) {
  if (arguments.file.empty() && arguments.settings.empty()) {
    return absl::InvalidArgumentError(
        "nothing to edit: give the sweep's new FILE.yaml, or --set priority=3 (also max_parallel, weight, "
        "group, "
        "retry.max_crashes, stop_after_failures, description)");
  }
  v1::GetSweepRequest get;
  get.set_sweep(arguments.sweep);
  ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.Call(&v1::SweepService::Stub::GetSweep, get));
  v1::EditSweepRequest request;
  request.set_sweep(sweep.sweep_id());
  request.set_revision(sweep.revision());
  if (arguments.yes) request.set_max_trials(SweepGrid::kSizeMax);
  *request.mutable_spec() = sweep.spec();
  if (!arguments.file.empty()) {
    SweepArguments file;
    file.file = arguments.file;
    file.scale = arguments.scale;
    ASSIGN_OR_RETURN(CheckedSweep checked, ReadAndCheck(file));
    *request.mutable_spec() = std::move(checked.spec);
  }
  RETURN_IF_ERROR(ApplyOverrides(request.mutable_spec(), arguments.settings));
  return request;
}

}  // namespace

void AddEditCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<EditArguments>();
  CLI::App* command = app.add_subcommand(
      "edit",
      "Change a running sweep: values of its axes, limits, priority; finished trials do not run again");
  command->add_option("sweep", arguments->sweep, "Sweep id or name")->required();
  command->add_option("file", arguments->file, "The whole new sweep, YAML");
  command->add_option("--scale", arguments->scale, "The scale that the sweep was submitted with");
  command
      ->add_option("--set", arguments->settings,
                   "Change a field of the sweep itself: priority=3, max_parallel=8 (may be repeated)")
      ->allow_extra_args(false);
  command->add_flag("--yes,-y", arguments->yes,
                    absl::StrCat("Also if it grows beyond ", kTrialsWithoutYes, " trials"));
  command->callback([&session, arguments] {
    const auto request = MakeRequest(session, *arguments);
    if (!request.ok()) return session.Finish(request.status());
    const auto response = session.CallOnce(&v1::SweepService::Stub::EditSweep, *request, 60);
    if (!response.ok()) return session.Finish(response.status());
    if (session.mode() == OutputMode::kJson) {
      PrintExact(ToJson(*response));
    } else if (session.people()) {
      Print(absl::StrCat(request->sweep(), " is at revision ", response->revision(), ": ", response->trials(),
                         " trials, ", response->added(), " added, ", response->kept(), " kept, ",
                         response->withdrawn(), " withdrawn\n"));
    }
  });
}

}  // namespace inlier
