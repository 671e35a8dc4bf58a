// inlier why: why a trial or a sweep waits, runs or has ended, as a tree.
#include <memory>
#include <string>

#include "base/status.h"
#include "cli/commands.h"
#include "cli/explanation_tree.h"

namespace inlier {

void AddWhyCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("why", "Explain why a trial or a sweep waits, runs or has ended");
  command->add_option("trial-or-sweep", *name, "Trial id (t-17), or sweep id or name")->required();
  OnUse(*command, session, [&session, name]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::Explanation explanation,
                     session.Call(&SweepStub::Explain, RequestAbout<v1::ExplainRequest>(*name)));
    session.json ? PrintExact(ToJson(explanation)) : Print(ExplanationTree(explanation));
    return absl::OkStatus();
  });
}

}  // namespace inlier
