// inlier query: one read-only SQL statement, executed by the coordinator.
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/query_rows.h"

namespace inlier {

void AddQueryCommand(CLI::App& app, Session& session) {
  auto request = std::make_shared<v1::QueryRequest>();
  CLI::App* command = app.add_subcommand(
      "query", "Run one read-only SQL statement (views: trials, results, curves, failures)");
  AddField(*command, "sql", *request,
           "For example: SELECT label, perplexity FROM results WHERE sweep_id = 's-1'")
      ->required();
  AddField(*command, "--max-rows", *request, "Most rows to return")
      ->default_str(absl::StrCat(request->max_rows()));
  auto csv = std::make_shared<bool>(false);
  command->add_flag("--csv", *csv,
                    "Print CSV, numbers in full; texts that a spreadsheet would run begin with '");
  OnUse(*command, session, [&session, request, csv]() -> absl::Status {
    if (*csv && session.json) return absl::InvalidArgumentError("give --csv or --json, not both");
    ASSIGN_OR_RETURN(const v1::QueryResponse response, session.Call(&SweepStub::Query, *request, 120));
    PrintRows(session, response, *csv);
    if (response.truncated() && !session.json)
      PrintError(absl::StrCat("only the first ", request->max_rows(), " rows; --max-rows shows more"));
    return absl::OkStatus();
  });
}

}  // namespace inlier
