// inlier optimize: asks Optuna for the points of a sweep that a coordinator has.
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/programs/python_module.h"

namespace inlier {

void AddOptimizeCommand(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "optimize",
      "Ask Optuna for the points of a sweep with sampling.optuna, until it has them all; `inlier run` and "
      "`inlier up` do it themselves");
  auto sweep = std::make_shared<std::string>();
  command->add_option("sweep", *sweep, "Id or name")->required();
  command->callback([&session, sweep] { session.Finish(BecomePython(kOptimizeModule, {*sweep}, session)); });
}

}  // namespace inlier
