// inlier params: every hyper-parameter, from the schema.
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "nlohmann/json.hpp"
#include "spec/trial/param_reference.h"

namespace inlier {

void AddParamsCommand(CLI::App& app, Session& session) {
  struct Arguments {
    std::string filter;
    bool markdown = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("params", "List the hyper-parameters: path, type, default, range, meaning");
  command->add_option("filter", arguments->filter,
                      "Only parameters with these words in path, column or meaning");
  command->add_flag("--markdown", arguments->markdown, "Print the page docs/reference/parameters.md");
  command->callback([&session, arguments] {
    if (arguments->markdown) {
      PrintExact(ParamsMarkdown());
      return;
    }
    const std::vector<ParamInfo> params = ParamsWith(arguments->filter);
    if (params.empty()) {
      return session.Finish(absl::NotFoundError(absl::StrCat(
          "no parameter has \"", arguments->filter,
          "\" in its path, column or meaning; `inlier params` lists all; for the keys of a sweep "
          "itself see docs/reference/sweep.md")));
    }
    if (!session.json) return Print(ParamsText(params, TerminalWidth()));
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const ParamInfo& param : params) {
      out.push_back({{"path", param.path},
                     {"type", param.type},
                     {"default", param.default_text},
                     {"range", param.range},
                     {"column", param.column},
                     {"symbol", param.symbol},
                     {"comment", param.comment},
                     {"required", param.required}});
    }
    PrintJson(out);
  });
}

}  // namespace inlier
