// inlier check, inlier submit.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/rerun_report.h"
#include "cli/sweeps/sweep_estimate.h"
#include "cli/sweeps/sweep_submission.h"
#include "cli/sweeps/sweep_watch.h"
#include "nlohmann/json.hpp"
#include "spec/schema/number_text.h"
#include "spec/schema/struct_value.h"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

// The trials of each other scale of the file, by its name.
using Scales = std::map<std::string, std::uint64_t>;
absl::StatusOr<Scales> CheckScales(const std::string& text, const SweepArguments& arguments) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ScaleNamesOfText(text, arguments.file, arguments.overrides));
  Scales scales;
  for (const std::string& name : names) {
    SweepArguments scaled = arguments;
    scaled.scale = name;
    absl::StatusOr<CheckedSweep> checked = CheckText(text, scaled);
    // Without those --set that are not for this scale.
    if (!checked.ok()) checked = CheckText(text, {.file = arguments.file, .scale = name});
    RETURN_IF_ERROR(checked.status());
    scales[name] = checked->grid.kept();
  }
  return scales;
}

// "  when method=clipped gamma|clipped alpha": the points of other axes to which the axis is limited.
std::string WhenText(const v1::Axis& axis) {
  std::string text;
  for (const auto& [name, value] : std::map(axis.when().begin(), axis.when().end())) {
    std::vector<std::string> labels;
    for (const auto& one : value.list_value().values()) labels.push_back(ValueText(one));
    if (labels.empty()) labels.push_back(ValueText(value));
    absl::StrAppend(&text, text.empty() ? "  when " : ", ", name, "=", absl::StrJoin(labels, "|"));
  }
  return text;
}

void ShowChecked(Session& session, const SweepArguments& arguments, const CheckedSweep& checked,
                 const Scales& scales) {
  const SweepGrid& grid = checked.grid;
  if (session.mode() == OutputMode::kQuiet) return Print(absl::StrCat(grid.kept(), "\n"));
  const SweepWork work = CountWork(grid);
  if (session.json) {
    std::string json = absl::StrCat("{\"trials\": ", grid.kept(), ", \"trainings\": ", work.trainings,
                                    ", \"evaluations\": ", work.evaluations,
                                    work.whole ? "" : ", \"counted_in_part\": true");
    if (!grid.sampling().empty())
      absl::StrAppend(&json, ", \"sampling\": ", nlohmann::json(grid.sampling()).dump());
    absl::StrAppend(&json, ", \"scales\": ", nlohmann::json(scales).dump());
    return PrintExact(absl::StrCat(json, ", \"sweep\": ", SpecToJson(checked.spec), "}\n"));
  }
  Print(absl::StrCat(arguments.file, ": sweep '", Shown(checked.spec.name(), Layout::kCell),
                     "' is valid: ", TrialsText(grid.kept()), ", ", work.whole ? "" : "at least ",
                     work.trainings, work.trainings == 1 ? " training, " : " trainings, ", work.evaluations,
                     work.evaluations == 1 ? " evaluation" : " evaluations", "\n"));
  if (const std::string estimate = EstimateText(session, work); !estimate.empty()) Print(estimate + "\n");
  if (!grid.sampling().empty()) Print(absl::StrCat("sampling: ", grid.sampling(), "\n"));
  TextTable table({"axis", "values", "labels"});
  for (std::size_t number = 0; number < grid.axes().size(); ++number) {
    const AxisInfo& axis = grid.axes()[number];
    const v1::Axis& spec = checked.spec.axes(static_cast<int>(number));
    const std::string when = WhenText(spec);
    if (!axis.range.empty()) {
      table.AddRow({axis.name, "drawn", axis.range + when});
      continue;
    }
    std::string labels = axis.each ? "each of " : "";
    for (std::size_t i = 0; i < axis.labels.size(); ++i) {
      if (labels.size() > 60) {
        absl::StrAppend(&labels, ", …");
        break;
      }
      absl::StrAppend(&labels, i == 0 ? "" : ", ", axis.labels[i]);
      if (spec.weights_size() > 0)
        absl::StrAppend(&labels, " (weight ", FormatNumber(spec.weights(static_cast<int>(i))), ")");
    }
    table.AddRow({axis.name, absl::StrCat(axis.labels.size()), labels + when});
  }
  if (!table.empty()) Print(table.ToString());
  for (const auto& [path, expression] : std::map(checked.spec.tied().begin(), checked.spec.tied().end()))
    Print(absl::StrCat("tied: ", Shown(path, Layout::kCell), " = ", Shown(expression, Layout::kCell), "\n"));
  for (const auto& [name, trials] : scales)
    Print(absl::StrCat("--scale ", Shown(name, Layout::kCell), ": ", TrialsText(trials), "\n"));
}

}  // namespace

void AddCheckCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command = app.add_subcommand("check", "Validate and expand a sweep without submitting it");
  AddSweepArguments(*command, *arguments, false);
  OnUse(*command, session, [&session, arguments]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string text, ReadTextFile(arguments->file));
    ASSIGN_OR_RETURN(const CheckedSweep checked, CheckText(text, *arguments));
    ASSIGN_OR_RETURN(const Scales scales, CheckScales(text, *arguments));
    RETURN_IF_ERROR(PrintWarnings(checked, *arguments, DataMust::kBeRight));
    ShowChecked(session, *arguments, checked, scales);
    return absl::OkStatus();
  });
}

void AddSubmitCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<SweepArguments>();
  auto watch = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("submit", "Submit a sweep; it starts immediately");
  AddSweepArguments(*command, *arguments, true);
  command->add_flag("--watch,-w", *watch, "Follow it until it finishes");
  OnUse(*command, session, [&session, arguments, watch]() -> absl::Status {
    ASSIGN_OR_RETURN(const CheckedSweep checked, ReadAndCheck(*arguments));
    RETURN_IF_ERROR(PrintWarnings(checked, *arguments, DataMust::kBeNothing));
    ASSIGN_OR_RETURN(const v1::SubmitSweepResponse response, Submit(session, checked, *arguments));
    const std::string& id = response.sweep_id();
    if (session.json && !*watch) {
      PrintExact(ToJson(response));
    } else if (session.mode() == OutputMode::kQuiet) {
      Print(id + "\n");
    } else if (session.people()) {
      Print(absl::StrCat(
          "submitted ", id, " (", Shown(checked.spec.name(), Layout::kCell), "): ", TrialsText(response),
          *watch ? "" : absl::StrCat("\nfollow it: inlier watch ", id, "     results: inlier table ", id),
          "\n"));
    }
    if (!*watch) return absl::OkStatus();
    CatchInterrupts();
    ASSIGN_OR_RETURN(const v1::SweepStatus status, FollowSweep(session, id, WatchOptions()));
    if (arguments->again) RETURN_IF_ERROR(PrintReruns(session, id));
    session.Finish(ExitCodeOfSweep(status));
    return absl::OkStatus();
  });
}

}  // namespace inlier
