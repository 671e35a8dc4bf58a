#include "cli/sweeps/sweep_submission.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/data/data_dir.h"
#include "base/status.h"
#include "cli/connection/local_roots.h"
#include "cli/convert/conversion.h"
#include "cli/data_check.h"
#include "cli/engine_check.h"
#include "rpc/endpoint_file.h"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {

void AddSweepArguments(CLI::App& command, SweepArguments& arguments, bool may_submit) {
  command.add_option("file", arguments.file, "A sweep: YAML, see sweeps/from-scratch.yaml")->required();
  command
      .add_option("--scale", arguments.scale, "A scale of the file, such as small; `inlier check` lists them")
      ->type_name("SCALE");
  command
      .add_option("--set", arguments.overrides,
                  "Change a field of the sweep's base: training.steps=100 (may be repeated)")
      ->allow_extra_args(false);
  if (may_submit) {
    command.add_flag("--yes,-y", arguments.yes,
                     absl::StrCat("Also submit more than ", kTrialsWithoutYes, " trials"));
    command.add_flag("--again", arguments.again,
                     "Run trials that have a result once more; the view reruns has what differs");
  }
}

absl::StatusOr<CheckedSweep> ReadAndCheck(const SweepArguments& arguments) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(arguments.file));
  return CheckText(text, arguments);
}

absl::StatusOr<CheckedSweep> CheckText(const std::string& text, const SweepArguments& arguments) {
  absl::StatusOr<v1::SweepSpec> spec =
      ReadSweepText(text, arguments.file, arguments.overrides, arguments.scale);
  if (!spec.ok()) {
    const std::string tool = ForeignTool(text);
    if (tool.empty()) return spec.status();
    return absl::InvalidArgumentError(absl::StrCat(arguments.file, ": is ", tool,
                                                   ", not a sweep of inlier; convert it: inlier convert ",
                                                   arguments.file, " -o NEW.yaml"));
  }
  ASSIGN_OR_RETURN(SweepGrid grid, SweepGrid::Create(*spec));
  grid.AppendExample();
  return CheckedSweep{*std::move(spec), std::move(grid), text};
}

absl::Status ShareNamedFiles(Session& session, const v1::SweepSpec& sweep) {
  RETURN_IF_ERROR(session.Sweeps().status());  // Finds who answers.
  std::error_code error;
  if (!session.HasEndpointFile() || !std::filesystem::exists(LocalTokenFile(session.dir), error))
    return absl::OkStatus();
  return AddLocalRoots(session.dir, ReadablePathsOf(sweep));
}

absl::StatusOr<v1::SubmitSweepResponse> Submit(Session& session, const CheckedSweep& sweep,
                                               const SweepArguments& arguments) {
  if (sweep.grid.kept() > kTrialsWithoutYes && !arguments.yes) {
    return absl::FailedPreconditionError(
        absl::StrCat("the sweep has ", sweep.grid.kept(), " trials, more than ", kTrialsWithoutYes,
                     "; submit it with --yes, or use fewer values or an `exclude`"));
  }
  RETURN_IF_ERROR(ShareNamedFiles(session, sweep.spec));
  v1::SubmitSweepRequest request;
  *request.mutable_sweep() = sweep.spec;
  if (arguments.again) request.set_again(true);
  if (arguments.yes) request.set_max_trials(SweepGrid::kSizeMax);
  return session.CallOnce(&SweepStub::SubmitSweep, request, 60);
}

absl::Status PrintWarnings(const CheckedSweep& checked, const SweepArguments& arguments, DataMust must) {
  std::string errors;
  for (const DataProblem& problem : FindDataProblems(checked.grid, DataDirOr(arguments.data_dir))) {
    const std::string text = DataProblemText(problem, arguments.file, checked.text);
    const bool refused = (problem.kind == DataProblem::kWrong && must != DataMust::kBeNothing) ||
                         (problem.kind == DataProblem::kAbsent && must == DataMust::kBeHere);
    if (refused) {
      absl::StrAppend(&errors, errors.empty() ? "" : "\n", text);
      continue;
    }
    PrintError(absl::StrCat("warning: ", text,
                            problem.kind == DataProblem::kDoubtful
                                ? ""
                                : "\n  Its trials fail unless the workers have other data there"));
  }
  if (const std::string warning = EngineWarning(checked.grid); !warning.empty())
    PrintError(absl::StrCat("warning: ", warning));
  return errors.empty() ? absl::OkStatus() : absl::InvalidArgumentError(errors);
}

std::string TrialsText(std::uint64_t trials) {
  return absl::StrCat(trials, trials == 1 ? " trial" : " trials");
}

std::string TrialsText(const v1::SubmitSweepResponse& submitted) {
  std::string text = TrialsText(submitted.trials());
  if (submitted.trials_known() > 0) {
    absl::StrAppend(&text, ", ", submitted.trials_known(),
                    " with known results if a worker finds their data unchanged");
  }
  return text;
}

}  // namespace inlier
