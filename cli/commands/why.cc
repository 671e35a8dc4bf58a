// inlier why: why a trial or a sweep waits, runs or has ended, as a tree.
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/explanation_tree.h"

namespace inlier {

void AddWhyCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("why", "Explain why a trial or a sweep waits, runs or has ended");
  command->add_option("trial-or-sweep", *name, "Trial id (t-17), or sweep id or name")->required();
  command->callback([&session, name] {
    v1::ExplainRequest request;
    if (absl::StartsWith(*name, "t-")) {
      request.set_trial(*name);
    } else {
      request.set_sweep(*name);
    }
    const auto explanation = session.Call(&v1::SweepService::Stub::Explain, request);
    if (!explanation.ok()) return session.Finish(explanation.status());
    if (session.mode() == OutputMode::kJson) {
      PrintExact(ToJson(*explanation));
    } else {
      Print(ExplanationTree(*explanation));
    }
  });
}

}  // namespace inlier
