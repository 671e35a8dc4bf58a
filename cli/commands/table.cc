// inlier table: the numbers of sweeps in the layout of a paper's table.
#include <memory>

#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/tables/table_printer.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {

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
      ->allow_extra_args(false);
  command
      ->add_option(
          "--columns", flags.columns,
          "Measurements, with @mean, @median or @best and :decimals: perplexity,max_inf_norm@median:2")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--by", flags.by, "Each column once for each label of these axes")
      ->allow_extra_args(false);
  command
      ->add_option("--where", flags.where,
                   "Only trials with AXIS=LABEL; several of one axis are alternatives")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--baseline", flags.baseline,
          "Compare with the row AXIS=LABEL: differences, intervals and tests; AXIS= where it has none")
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
  command
      ->add_option("--format,-f", order->format,
                   "text, markdown, csv, latex, json or html; by the suffix of --output, else text")
      ->check(CLI::IsMember({"text", "markdown", "csv", "latex", "json", "html"}));
  command->add_option("--output,-o", order->output, "Write to this file");
  command->add_flag("--force", order->force, "Replace the file");
  OnUse(*command, session, [&session, order, spec]() -> absl::Status {
    if (!spec->empty()) RETURN_IF_ERROR(ReadYamlFile(*spec, &order->spec.emplace()));
    return PrintTable(session, *order);
  });
}

}  // namespace inlier
