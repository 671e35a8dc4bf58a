// inlier logs TRIAL: the output of its attempts.
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/log_line.h"

namespace inlier {

void AddLogsCommand(CLI::App& app, Session& session) {
  auto trial = std::make_shared<std::string>();
  auto lines = std::make_shared<uint32_t>(v1::GetLogsRequest().max_lines());
  CLI::App* command = app.add_subcommand("logs", "Print the log lines of a trial's attempts, oldest first");
  command->add_option("trial", *trial, "Trial id, for example t-17")->required();
  command->add_option("--max-lines", *lines, "Most lines to show")->capture_default_str();
  command->callback([&session, trial, lines] {
    v1::GetLogsRequest request;
    request.set_trial(*trial);
    request.set_max_lines(*lines);
    const auto response = session.Call(&v1::SweepService::Stub::GetLogs, request);
    if (!response.ok()) return session.Finish(response.status());
    if (session.mode() == OutputMode::kJson) {
      PrintExact(ToJson(*response));
      return;
    }
    uint64_t token = 0;
    std::string text;
    for (const v1::LoggedLine& line : response->lines()) {
      if (line.token() != token && session.people())
        absl::StrAppend(&text, "--- ", line.stage_id(), ", attempt with token ", line.token(), "\n");
      token = line.token();
      text += LogLine(line);
    }
    if (response->lines().empty() && session.people()) text = absl::StrCat("No log lines of ", *trial, "\n");
    Print(text);
  });
}

}  // namespace inlier
