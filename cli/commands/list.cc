// inlier list: the sweeps, filtered and sorted.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/query_rows.h"
#include "cli/sweeps/sweep_text.h"

namespace inlier {
namespace {

constexpr std::uint32_t kSweepsMax = 1'000'000;  // As many rows as a query may have.

struct ListArguments {
  v1::ListSweepsRequest request;
  std::vector<std::string> tags;
  std::string where;
  std::string sort = "submitted";
  bool reverse = false;
};

// Ids of the sweeps with a result for which `where` holds.
absl::StatusOr<std::set<std::string>> SweepsWhere(Session& session, const std::string& where) {
  const absl::StatusOr<v1::QueryResponse> rows = QueryRows(
      session, absl::StrCat("SELECT DISTINCT sweep_id FROM results WHERE withdrawn = 0 AND (", where, "\n)"),
      kSweepsMax);
  RETURN_IF_ERROR(Annotate(rows.status(), "reading --where, a condition on the columns of the view results"));
  if (rows->truncated())
    return absl::ResourceExhaustedError(
        absl::StrCat("--where: it holds in more than ", kSweepsMax, " sweeps; make it narrower"));
  std::set<std::string> ids;
  for (const v1::QueryRow& row : rows->rows()) ids.insert(row.values(0).text());
  return ids;
}

// All of them, newest first.
absl::StatusOr<v1::ListSweepsResponse> Sweeps(Session& session, v1::ListSweepsRequest request) {
  v1::ListSweepsResponse all;
  do {
    ASSIGN_OR_RETURN(const v1::ListSweepsResponse page, session.Call(&SweepStub::ListSweeps, request));
    all.mutable_sweeps()->MergeFrom(page.sweeps());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

using Less = std::function<bool(const v1::SweepStatus&, const v1::SweepStatus&)>;

const std::map<std::string, Less>& Orders() {
  static const auto by = [](auto value) -> Less {
    return [value](const v1::SweepStatus& a, const v1::SweepStatus& b) { return value(a) < value(b); };
  };
  using Status = const v1::SweepStatus&;
  static const std::map<std::string, Less> orders = {
      {"submitted", by([](Status one) { return -one.submitted_unix_ms(); })},
      {"name", by([](Status one) { return one.name(); })},
      {"owner", by([](Status one) { return one.owner(); })},
      {"trials", by([](Status one) { return -static_cast<std::int64_t>(TotalTrials(one.trials())); })},
      {"hours", by([](Status one) { return -one.attempt_hours(); })},
  };
  return orders;
}

void Show(const v1::ListSweepsResponse& list) {
  const bool owned =
      std::ranges::any_of(list.sweeps(), [](const v1::SweepStatus& one) { return one.has_owner(); });
  std::vector<std::string> headings = {"sweep", "name", "state", "trials", "submitted", "tags"};
  if (owned) headings.push_back("owner");
  TextTable table(headings);
  for (const v1::SweepStatus& sweep : list.sweeps()) {
    const std::string state = sweep.has_removed_unix_ms() ? "removed"
                              : sweep.archived()          ? "archived, " + SweepWord(sweep)
                                                          : SweepWord(sweep);
    std::vector<std::string> cells = {sweep.sweep_id(),
                                      sweep.name(),
                                      state,
                                      absl::StrCat(TotalTrials(sweep.trials())),
                                      FormatLocal({sweep.submitted_unix_ms()}).substr(0, 16),
                                      absl::StrJoin(sweep.tags(), " ")};
    if (owned) cells.push_back(sweep.owner());
    table.AddRow(cells);
  }
  Print(table.ToString(FittingWidth()));
}

absl::Status List(Session& session, const ListArguments& arguments) {
  v1::ListSweepsRequest request = arguments.request;
  *request.mutable_tags() = {arguments.tags.begin(), arguments.tags.end()};
  ASSIGN_OR_RETURN(v1::ListSweepsResponse list, Sweeps(session, request));
  auto& sweeps = *list.mutable_sweeps();
  if (!arguments.where.empty()) {
    ASSIGN_OR_RETURN(const std::set<std::string> ids, SweepsWhere(session, arguments.where));
    sweeps.erase(std::remove_if(sweeps.begin(), sweeps.end(),
                                [&ids](const v1::SweepStatus& one) { return !ids.contains(one.sweep_id()); }),
                 sweeps.end());
  }
  std::stable_sort(sweeps.begin(), sweeps.end(), Orders().at(arguments.sort));
  if (arguments.reverse) std::reverse(sweeps.begin(), sweeps.end());
  if (session.mode() == OutputMode::kJson) {
    PrintExact(ToJson(list));
  } else if (session.mode() == OutputMode::kQuiet) {
    for (const v1::SweepStatus& sweep : sweeps) Print(sweep.sweep_id() + "\n");
  } else if (sweeps.empty()) {
    Print("No sweep is so. Archived ones: inlier list --all; removed ones: inlier list --removed\n");
  } else {
    Show(list);
  }
  return absl::OkStatus();
}

}  // namespace

void AddListCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ListArguments>();
  v1::ListSweepsRequest& request = arguments->request;
  CLI::App* command = app.add_subcommand("list", "List sweeps: by tag, owner, text, or what they measured");
  AddField(*command, "text", request, "Only those with it in name, tags or note");
  command->add_option("--tag", arguments->tags, "Only with this tag; several: with all of them")
      ->allow_extra_args(false);
  AddField(*command, "--owner", request, "Only of this owner; me: of the caller");
  CLI::Option* where =
      command->add_option("--where", arguments->where,
                          "Only with a result for which this holds: SQL on the columns of the view results");
  AddField(*command, "--active", request, "Only those that have not ended");
  CLI::Option* all = AddField(*command, "--all", request, "Archived ones, too");
  AddField(*command, "--removed", request, "Those that were removed and can be restored")
      ->excludes(all)
      ->excludes(where);  // The view has nothing of them.
  std::vector<std::string> orders;
  for (const auto& [name, less] : Orders()) orders.push_back(name);
  command->add_option("--sort", arguments->sort, "Order of the rows")
      ->check(CLI::IsMember(orders))
      ->capture_default_str();
  command->add_flag("--reverse", arguments->reverse, "The other way round");
  OnUse(*command, session, [&session, arguments] { return List(session, *arguments); });
}

}  // namespace inlier
