// inlier audit: who changed what, or tried to.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/query_rows.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

struct AuditArguments {
  std::string sweep, who;
  std::uint32_t rows = 100;
};

// NotFound where the audit has no call of `who` at all.
absl::Status CheckCaller(Session& session, const std::string& who) {
  ASSIGN_OR_RETURN(const v1::QueryResponse response,
                   QueryRows(session, "SELECT DISTINCT who FROM audit ORDER BY who"));
  std::vector<std::string> known;
  for (const v1::QueryRow& row : response.rows()) known.push_back(row.values(0).text());
  if (std::ranges::find(known, who) != known.end()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("--who ", who, ": the audit has no call of this caller", DidYouMean(who, known)));
}

absl::Status Show(Session& session, const AuditArguments& arguments) {
  std::string where;
  if (!arguments.sweep.empty()) {
    ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.GetSweep(arguments.sweep));
    where = absl::StrCat(" WHERE sweep_id = ", SqlText(sweep.sweep_id()));
  }
  if (!arguments.who.empty())
    absl::StrAppend(&where, where.empty() ? " WHERE" : " AND", " who = ", SqlText(arguments.who));
  // The latest, oldest first: for users with the message of a refused call, for programs with everything.
  const char* columns =
      session.json
          ? "*"
          : "at, who, role, method, coalesce(trial, worker, sweep_id, '') AS \"of\", outcome, "
            "iif(calls > 1, calls || ' calls: ', '') || iif(message = '', request, message) AS detail, peer";
  ASSIGN_OR_RETURN(
      const v1::QueryResponse response,
      QueryRows(session,
                absl::StrCat("SELECT ", columns, " FROM (SELECT * FROM audit", where,
                             " ORDER BY number DESC LIMIT ", arguments.rows, ") ORDER BY number"),
                arguments.rows));
  if (!arguments.who.empty() && response.rows_size() == 0)
    RETURN_IF_ERROR(CheckCaller(session, arguments.who));
  PrintRows(session, response);
  if (session.people() && static_cast<std::uint32_t>(response.rows_size()) == arguments.rows)
    PrintError(absl::StrCat("only the latest ", arguments.rows, " rows; --max-rows shows more"));
  return absl::OkStatus();
}

}  // namespace

void AddAuditCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<AuditArguments>();
  CLI::App* command = app.add_subcommand(
      "audit", "List who submitted, changed or cancelled what, and which such calls were refused");
  command->add_option("--sweep", arguments->sweep, "Only of this sweep: id or name")->type_name("SWEEP");
  command->add_option("--who", arguments->who, "Only of this caller: name of the token or the certificate");
  command->add_option("--max-rows", arguments->rows, "Most rows to list: the latest")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->callback([&session, arguments] { session.Finish(Show(session, *arguments)); });
}

}  // namespace inlier
