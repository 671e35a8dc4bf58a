// inlier query: one read-only SQL statement, executed by the coordinator.
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/query_rows.h"

namespace inlier {

void AddQueryCommand(CLI::App& app, Session& session) {
  auto request = std::make_shared<v1::QueryRequest>();
  auto sql = std::make_shared<std::string>();
  auto rows = std::make_shared<uint32_t>(request->max_rows());
  CLI::App* command = app.add_subcommand(
      "query", "Run one read-only SQL statement (views: trials, results, curves, failures)");
  command
      ->add_option("sql", *sql, "For example: SELECT label, perplexity FROM results WHERE sweep_id = 's-1'")
      ->required();
  command->add_option("--max-rows", *rows, "Most rows to return")->capture_default_str();
  auto csv = std::make_shared<bool>(false);
  command->add_flag("--csv", *csv, "Print CSV, numbers in full");
  command->callback([&session, request, sql, rows, csv] {
    if (*csv && session.mode() == OutputMode::kJson)
      return session.Finish(absl::InvalidArgumentError("give --csv or --json, not both"));
    request->set_sql(*sql);
    request->set_max_rows(*rows);
    const auto response = session.Call(&v1::SweepService::Stub::Query, *request, 120);
    if (!response.ok()) return session.Finish(response.status());
    PrintRows(session, *response, *csv);
    if (response->truncated() && session.mode() != OutputMode::kJson)
      PrintError(absl::StrCat("only the first ", *rows, " rows; --max-rows shows more"));
  });
}

}  // namespace inlier
