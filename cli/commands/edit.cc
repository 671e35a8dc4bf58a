// inlier edit: replaces the specification of a sweep while it runs.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/spec_changes.h"
#include "cli/sweeps/sweep_submission.h"
#include "spec/schema/field_path.h"
#include "spec/schema/overrides.h"
#include "spec/sweep/sweep_edit.h"

namespace inlier {
namespace {

struct EditArguments {
  std::string sweep;
  std::string file;
  std::string scale;
  std::vector<std::string> settings;
  bool yes = false;
  bool reset = false;
  bool dry_run = false;
};

// InvalidArgument for a field of the base, which an edit cannot change.
absl::Status CheckSettings(const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::string path(absl::StripPrefix(setting.substr(0, setting.find('=')), "base."));
    FieldPath field;
    if (FieldPath::TryParse(v1::TrialSpec::descriptor(), path, &field).empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set ", path,
                       ": belongs to the sweep's base, which cannot change while it runs; submit a new "
                       "sweep (trainings that are the same are not run again), or add a value to an axis"));
    }
  }
  return absl::OkStatus();
}

struct Edit {
  v1::SweepSpec from;
  v1::EditSweepRequest request;
  std::vector<std::string> changes;  // SpecChanges.
};

// The current sweep, or the file if given, with the settings applied.
absl::StatusOr<Edit> MakeEdit(Session& session, const EditArguments& arguments) {
  if (arguments.file.empty() && arguments.settings.empty()) {
    return absl::InvalidArgumentError(
        "nothing to edit: give the sweep's new FILE.yaml, or --set priority=3 (also max_parallel, weight, "
        "group, retry.max_crashes, stop_after_failures, description)");
  }
  RETURN_IF_ERROR(CheckSettings(arguments.settings));
  ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.GetSweep(arguments.sweep));
  Edit edit;
  v1::EditSweepRequest& request = edit.request;
  request.set_sweep(sweep.sweep_id());
  request.set_revision(sweep.revision());
  if (arguments.yes) request.set_max_trials(SweepGrid::kSizeMax);
  edit.from = *request.mutable_spec() = sweep.spec();
  if (!arguments.file.empty()) {
    SweepArguments file;
    file.file = arguments.file;
    file.scale = arguments.scale;
    ASSIGN_OR_RETURN(CheckedSweep checked, ReadAndCheck(file));
    *request.mutable_spec() = std::move(checked.spec);
  }
  RETURN_IF_ERROR(ApplyOverrides(request.mutable_spec(), arguments.settings));
  edit.changes = SpecChanges(sweep.spec(), request.spec());
  return edit;
}

// "  priority: 3 -> default (not set in new.yaml)": a file replaces everything, also what `edit --set` had set.
std::string ChangesText(const Edit& edit, const std::string& file) {
  if (edit.changes.empty()) return "  nothing changes";
  return absl::StrJoin(edit.changes, "\n", [&file](std::string* text, const std::string& change) {
    absl::StrAppend(text, "  ", Shown(change, Layout::kCell));
    if (!file.empty() && absl::EndsWith(change, " -> default"))
      absl::StrAppend(text, " (not set in ", Shown(file, Layout::kCell), ")");
  });
}

// A file without a setting that the sweep has would take its default: `edit --set` has set it, or a file before.
absl::Status CheckResets(const Edit& edit, const EditArguments& arguments) {
  if (arguments.file.empty() || arguments.reset) return absl::OkStatus();
  static constexpr const char* kOfTheFile[] = {"axes.", "base.",   "exclude",    "sampling",
                                               "table", "figures", "description"};
  std::vector<std::string> resets;
  for (const std::string& change : edit.changes) {
    const bool of_the_file =
        std::any_of(std::begin(kOfTheFile), std::end(kOfTheFile),
                    [&change](const char* path) { return absl::StartsWith(change, path); });
    if (!of_the_file && absl::EndsWith(change, " -> default")) resets.push_back(change);
  }
  if (resets.empty()) return absl::OkStatus();
  std::string sets;
  for (const std::string& reset : resets)
    absl::StrAppend(&sets, " --set ",
                    absl::StrReplaceAll(reset.substr(0, reset.rfind(" -> ")), {{": ", "="}}));
  return absl::FailedPreconditionError(
      absl::StrCat(arguments.file, " would reset settings of the sweep: ", absl::StrJoin(resets, ", "),
                   ". Write it in the file, keep it with", sets, ", or take the defaults with --reset"));
}

// As the coordinator would; a dry run does not ask it.
absl::Status CheckEdit(const Edit& edit) {
  ASSIGN_OR_RETURN(SweepGrid from, SweepGrid::Create(edit.from));
  ASSIGN_OR_RETURN(SweepGrid to, SweepGrid::Create(edit.request.spec()));
  return SweepEdit::Create(edit.from, std::move(from), edit.request.spec(), std::move(to)).status();
}

absl::Status DoEdit(Session& session, const EditArguments& arguments) {
  ASSIGN_OR_RETURN(const Edit edit, MakeEdit(session, arguments));
  RETURN_IF_ERROR(CheckResets(edit, arguments));
  if (arguments.dry_run) {
    RETURN_IF_ERROR(CheckEdit(edit));
    Print(absl::StrCat("would change:\n", ChangesText(edit, arguments.file), "\n"));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(ShareNamedFiles(session, edit.request.spec()));
  ASSIGN_OR_RETURN(const v1::EditSweepResponse response,
                   session.CallOnce(&SweepStub::EditSweep, edit.request, 60));
  session.Report(response, absl::StrCat(edit.request.sweep(), " is at revision ", response.revision(), ": ",
                                        response.trials(), " trials, ", response.added(), " added, ",
                                        response.kept(), " kept, ", response.withdrawn(), " withdrawn\n",
                                        ChangesText(edit, arguments.file)));
  return absl::OkStatus();
}

}  // namespace

void AddEditCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<EditArguments>();
  CLI::App* command = app.add_subcommand(
      "edit",
      "Change a running sweep: values of its axes, limits, priority; finished trials do not run again");
  command->add_option("sweep", arguments->sweep, "Sweep id or name")->required();
  command->add_option("file", arguments->file, "New definition of the sweep (complete YAML file)");
  command->add_option("--scale", arguments->scale, "The scale that the sweep was submitted with")
      ->type_name("SCALE");
  command
      ->add_option("--set", arguments->settings,
                   "Change a field of the sweep itself: priority=3, max_parallel=8 (may be repeated)")
      ->allow_extra_args(false);
  command->add_flag("--yes,-y", arguments->yes,
                    absl::StrCat("Also if it grows beyond ", kTrialsWithoutYes, " trials"));
  command->add_flag(
      "--reset", arguments->reset,
      "Also if the file lacks a setting of the sweep, such as its priority: it takes the default");
  command->add_flag("--dry-run", arguments->dry_run, "Print what would change, and change nothing");
  OnUse(*command, session, [&session, arguments] { return DoEdit(session, *arguments); });
}

}  // namespace inlier
