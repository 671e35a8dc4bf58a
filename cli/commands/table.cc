// inlier table: the numbers of sweeps in the layout of a paper's table.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/programs/python_module.h"
#include "cli/tables/table_printer.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {
namespace {

// Options of the table itself would change nothing.
absl::Status CheckImportance(const CLI::App& command, const TableOrder& order) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && name != "sweeps" && name != "--importance" && name != "--by" &&
        name != "--format")
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has no effect with --importance, which has --by and --format: leave it out"));
  }
  if (order.sweeps.size() > 1 || order.flags.by.size() > 1)
    return absl::InvalidArgumentError("--importance is of one sweep and one measurement: name one of each");
  if (!order.format.empty() && order.format != "text" && order.format != "csv" && order.format != "json")
    return absl::InvalidArgumentError(
        absl::StrCat("--format ", order.format, ": --importance is printed as text, csv or json"));
  return absl::OkStatus();
}

std::vector<std::string> ImportanceArguments(const Session& session, const TableOrder& order,
                                             const std::string& evaluator) {
  std::vector<std::string> arguments = {order.sweeps[0], "--evaluator", evaluator, "--format",
                                        session.json           ? "json"
                                        : order.format.empty() ? "text"
                                                               : order.format};
  if (!order.flags.by.empty()) arguments.insert(arguments.end(), {"--by", order.flags.by[0]});
  return arguments;
}

void AddOutputOptions(CLI::App& command, TableOrder& order) {
  command
      .add_option("--format,-f", order.format,
                  "text, markdown, csv, latex, json or html; by the suffix of --output, else text")
      ->check(CLI::IsMember({"text", "markdown", "csv", "latex", "json", "html"}));
  command.add_option("--output,-o", order.output, "Write to this file");
  command.add_flag("--force", order.force, "Replace the file");
}

}  // namespace

void AddTableCommand(CLI::App& app, Session& session) {
  auto order = std::make_shared<TableOrder>();
  auto spec = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "table", "Print the table of one or more sweeps: mean and standard deviation over the seeds");
  TableFlags& flags = order->flags;
  command
      ->add_option("sweeps", order->sweeps, "Sweep ids, names or files; the table of the first one is drawn")
      ->required();
  command->add_option("--spec", *spec, "A TableSpec (YAML) instead of the sweep's own");
  command
      ->add_option("--rows", flags.rows, "Axes, or columns of the view trials, a row each combination: a,b")
      ->type_name("AXIS")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--columns", flags.columns,
          "Measurements, with @mean, @median or @best and :decimals: perplexity,max_inf_norm@median:2")
      ->delimiter(',')
      ->type_name("MEASUREMENT")
      ->allow_extra_args(false);
  command->add_option("--by", flags.by, "Each column once for each label of these axes")
      ->type_name("AXIS")
      ->allow_extra_args(false);
  command
      ->add_option("--where", flags.where,
                   "Only trials with AXIS=LABEL; several of one axis are alternatives")
      ->type_name("AXIS=LABEL")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--baseline", flags.baseline,
          "Compare with the row AXIS=LABEL: differences, intervals and tests; AXIS= where it has none")
      ->type_name("AXIS=LABEL")
      ->allow_extra_args(false);
  command
      ->add_option("--correlate", flags.correlate,
                   "Spearman's rank correlation of two columns by their headings, A,B, over the rows; "
                   "A,B@trainings: a point a training")
      ->allow_extra_args(false);
  AddField(*command, "--confidence", flags.fields, "Of the intervals and tests, 0.95 when not given");
  command->add_flag("--differences", order->differences, "Show the differences to the baseline");
  command->add_flag("--no-bold", flags.no_bold, "The best of a column is not marked");
  AddField(*command, "--published", flags.fields,
           "Figures of a paper next to ours, for example bondarenko2023/2");
  AddField(*command, "--title", flags.fields, "Printed above");
  AddField(*command, "--caption", flags.fields, "LaTeX and HTML: the caption; the title when not given");
  AddField(*command, "--label", flags.fields, "LaTeX: the label");
  command->add_option("--explain", order->explain,
                      "ROW,COL, by numbers from 1 or labels: the trials behind this cell");
  AddOutputOptions(*command, *order);
  auto evaluator = std::make_shared<std::string>();
  command
      ->add_flag(
          "--importance{fanova}", *evaluator,
          "How much each parameter matters for the measurement --by, in place of the table; by Optuna's "
          "fanova, or --importance=mdi")
      ->check(CLI::IsMember({"fanova", "mdi"}));
  OnUse(*command, session, [&session, order, spec, evaluator, command]() -> absl::Status {
    if (!evaluator->empty()) {
      RETURN_IF_ERROR(CheckImportance(*command, *order));
      return BecomePython(kImportanceModule, ImportanceArguments(session, *order, *evaluator), session);
    }
    if (!spec->empty()) RETURN_IF_ERROR(ReadYamlFile(*spec, &order->spec.emplace()));
    return PrintTable(session, *order);
  });
}

}  // namespace inlier
