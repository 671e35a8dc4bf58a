// inlier table: a sweep's numbers in the layout of a paper's table.
#include <memory>

#include "cli/commands.h"
#include "cli/tables/table_printer.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {

void AddTableCommand(CLI::App& app, Session& session) {
  struct Arguments {
    std::string sweep, spec, format = "text";
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("table", "Print the table of a sweep: mean and standard deviation over its seeds");
  command->add_option("sweep", arguments->sweep, "Sweep id or name")->required();
  command->add_option("--spec", arguments->spec, "A TableSpec (YAML) instead of the sweep's own");
  command->add_option("--format,-f", arguments->format, "text, markdown, csv, latex or json")
      ->capture_default_str();
  command->callback([&session, arguments] {
    std::optional<v1::TableSpec> spec;
    if (!arguments->spec.empty()) {
      spec.emplace();
      if (const absl::Status status = ReadYamlFile(arguments->spec, &*spec); !status.ok())
        return session.Finish(status);
    }
    session.Finish(PrintTable(session, arguments->sweep, spec, arguments->format));
  });
}

}  // namespace inlier
