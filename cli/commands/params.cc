// inlier params: every hyper-parameter, from the schema.
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "nlohmann/json.hpp"
#include "spec/program/find_program.h"
#include "spec/program/trial_form.h"
#include "spec/trial/param_reference.h"

namespace inlier {
namespace {

// Of the program in the folder, or of our models.
absl::StatusOr<std::vector<ParamInfo>> ParamsOf(const std::string& program) {
  if (program.empty()) return TrialParams();
  ASSIGN_OR_RETURN(const v1::ProgramUse use, UseOfProgram(program));
  ASSIGN_OR_RETURN(const auto form, TrialForm::OfProgram(use));
  return form->params();
}

}  // namespace

void AddParamsCommand(CLI::App& app, Session& session) {
  auto filter = std::make_shared<std::string>();
  auto program = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("params", "List the hyper-parameters: path, type, default, range, meaning");
  command->add_option("filter", *filter, "Only parameters with these words in path, column or meaning");
  command->add_option("--program", *program,
                      "Parameters of the program in this folder, in place of inlier's");
  command->add_flag("--markdown", *markdown, "Print the page docs/reference/parameters.md");
  command->callback([&session, filter, program, markdown] {
    if (*markdown) return PrintExact(ParamsMarkdown());
    absl::StatusOr<std::vector<ParamInfo>> all = ParamsOf(*program);
    if (!all.ok()) return session.Finish(all.status());
    const std::vector<ParamInfo> params = ParamsWith(*filter, *all);
    if (params.empty()) {
      return session.Finish(absl::NotFoundError(
          absl::StrCat("no parameter has \"", *filter, "\" in its path, column or meaning; `inlier params",
                       program->empty() ? "" : " --program " + *program,
                       "` lists all; for the keys of a sweep itself see docs/reference/sweep.md")));
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
