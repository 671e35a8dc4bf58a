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
  command->add_option("sql", *sql, "For example: SELECT * FROM results")->required();
  command->add_option("--max-rows", *rows, "Most rows to return")->capture_default_str();
  command->callback([&session, request, sql, rows] {
    request->set_sql(*sql);
    request->set_max_rows(*rows);
    const auto response = session.Call(&v1::SweepService::Stub::Query, *request, 120);
    if (!response.ok()) return session.Finish(response.status());
    PrintRows(session, *response);
    if (response->truncated() && session.mode() != OutputMode::kJson)
      PrintError(absl::StrCat("only the first ", *rows, " rows; --max-rows shows more"));
  });
}

}  // namespace inlier
