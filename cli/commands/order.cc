// inlier tag, note, rename, archive, unarchive, remove, restore: order among the sweeps.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/query_rows.h"
#include "cli/sweeps/name_note.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

std::string Count(std::uint64_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// "s-3 (smoke)"
template <typename Response>
std::string NameOf(const Response& response) {
  return absl::StrCat(response.sweep_id(), " (", Shown(response.name(), Layout::kCell), ")");
}

// Sends the request and reports `done` of what changed, or that nothing did.
absl::Status Label(Session& session, const v1::LabelSweepRequest& request, const std::string& done) {
  ASSIGN_OR_RETURN(const v1::LabelSweepResponse response, session.CallOnce(&SweepStub::LabelSweep, request));
  session.Report(response, absl::StrCat(NameOf(response), response.changed() ? done : " is so already"));
  return absl::OkStatus();
}

// A name means an archived sweep here, the newest of several.
absl::Status NameArchived(Session& session, std::string& sweep) {
  ASSIGN_OR_RETURN(const v1::QueryResponse rows,
                   QueryRows(session, absl::StrCat("SELECT sweep_id FROM sweeps WHERE archived AND sweep = ",
                                                   SqlText(sweep),
                                                   " ORDER BY CAST(substr(sweep_id, 3) AS INTEGER) DESC")));
  if (rows.rows_size() > 0) sweep = rows.rows(0).values(0).text();
  return absl::OkStatus();
}

void AddArchiving(CLI::App& app, Session& session, bool archive) {
  auto request = std::make_shared<v1::LabelSweepRequest>();
  request->set_archived(archive);
  CLI::App* command =
      app.add_subcommand(archive ? "archive" : "unarchive",
                         archive ? "Leave a sweep out of lists; its tables and results stay as they are"
                                 : "List an archived sweep again");
  AddField(*command, "sweep", *request, "Sweep id or name")->required();
  OnUse(*command, session, [&session, request, archive]() -> absl::Status {
    if (!archive) RETURN_IF_ERROR(NameArchived(session, *request->mutable_sweep()));
    return Label(session, *request,
                 archive ? " is archived; inlier list --all has it" : " is in the lists again");
  });
}

absl::Status ShowNote(Session& session, const std::string& name) {
  ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.GetSweep(name));
  if (session.mode() == OutputMode::kJson) {
    PrintJson({{"sweep_id", sweep.sweep_id()}, {"note", sweep.note()}});
  } else if (!sweep.note().empty()) {
    Print(sweep.note().back() == '\n' ? sweep.note() : sweep.note() + "\n");
  }
  return absl::OkStatus();
}

struct NoteArguments {
  v1::LabelSweepRequest request;
  std::string file;
  bool clear = false;
};

absl::Status SetNote(Session& session, NoteArguments& arguments) {
  v1::LabelSweepRequest& request = arguments.request;
  if (arguments.clear) {
    if (request.has_note() || !arguments.file.empty())
      return absl::InvalidArgumentError("--clear: leaves no note; leave out the text and --file");
    request.set_note("");
  }
  if (!arguments.file.empty()) {
    ASSIGN_OR_RETURN(*request.mutable_note(), ReadFile(arguments.file));
  }
  if (!request.has_note()) return ShowNote(session, request.sweep());
  return Label(session, request, request.note().empty() ? " has no note any more" : " has its note");
}

// "Remove s-3 (smoke): 8 trials with 8 results; 4 trainings and their models, 12.0 MiB; 2 trainings that other sweeps need stay?"
std::string Question(const v1::RemoveSweepResponse& plan) {
  std::string text = absl::StrCat("Remove ", NameOf(plan), ": ", Count(plan.trials(), "trial"), " with ",
                                  Count(plan.results(), "result"), "; ", Count(plan.trainings(), "training"),
                                  " that no other sweep needs, models of ", BytesText(plan.bytes()));
  if (plan.shared() > 0)
    absl::StrAppend(&text, "; ", Count(plan.shared(), "training"), " that other sweeps need ",
                    plan.shared() == 1 ? "stays" : "stay");
  if (plan.open() > 0) absl::StrAppend(&text, "; ", Count(plan.open(), "trial"), " that run or wait end");
  return text;
}

struct RemoveArguments {
  std::vector<std::string> sweeps;
  bool yes = false;
  v1::RemoveSweepRequest request;
};

// Of all that are named, each once, before the first is removed: none is where one cannot be.
absl::StatusOr<std::vector<std::string>> IdsToRemove(Session& session, const RemoveArguments& arguments) {
  if (arguments.sweeps.size() == 1) return arguments.sweeps;
  std::vector<std::string> ids;
  for (const std::string& sweep : arguments.sweeps) {
    v1::RemoveSweepRequest request = arguments.request;
    request.set_sweep(sweep);
    request.set_dry_run(true);
    ASSIGN_OR_RETURN(const v1::RemoveSweepResponse plan, session.Call(&SweepStub::RemoveSweep, request));
    if (plan.open() > 0 && !request.cancel())
      return absl::FailedPreconditionError(absl::StrCat("nothing was removed: ", NameOf(plan), " has ",
                                                        Count(plan.open(), "trial"),
                                                        " that run or wait; --cancel ends them"));
    if (std::ranges::find(ids, plan.sweep_id()) == ids.end()) ids.push_back(plan.sweep_id());
  }
  return ids;
}

absl::Status Remove(Session& session, const RemoveArguments& arguments, const std::string& sweep) {
  v1::RemoveSweepRequest request = arguments.request;
  request.set_sweep(sweep);
  const bool asks = !arguments.yes && session.people() && StdinIsTerminal() && StdoutIsTerminal();
  if (asks || request.dry_run()) {
    v1::RemoveSweepRequest ask = request;
    ask.set_dry_run(true);
    ASSIGN_OR_RETURN(const v1::RemoveSweepResponse plan, session.Call(&SweepStub::RemoveSweep, ask));
    if (request.dry_run()) {
      session.Report(plan, absl::StrCat("Would ", Question(plan).replace(0, 1, "r")));
      return absl::OkStatus();
    }
    if (!Agrees(Question(plan) + "?")) return absl::CancelledError("nothing was removed");
  } else if (!arguments.yes) {
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing was removed: ", sweep,
        " is removed only on a terminal, which is asked, or with --yes; --dry-run says what goes"));
  }
  ASSIGN_OR_RETURN(const v1::RemoveSweepResponse response,
                   session.CallOnce(&SweepStub::RemoveSweep, request));
  session.Report(response,
                 absl::StrCat(NameOf(response), " is removed; until `inlier gc` frees it, inlier restore ",
                              response.sweep_id(), " brings it back"));
  return absl::OkStatus();
}

}  // namespace

void AddTagCommand(CLI::App& app, Session& session) {
  auto sweep = std::make_shared<std::string>();
  auto on = std::make_shared<std::vector<std::string>>();
  auto off = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("tag", "Tag a sweep (+a) or take tags off (-b)");
  command->add_option("sweep", *sweep, "Sweep id or name")->required();
  command->add_option("tags", *on, "+a sets the tag a, -b takes b off; none: prints the tags");
  command->add_option("--off", *off, "The same as -TAG")->allow_extra_args(false);
  OnUse(*command, session, [&session, sweep, on, off] {
    v1::LabelSweepRequest request;
    request.set_sweep(*sweep);
    for (const std::string& tag : *on) request.add_add_tags(tag.starts_with('+') ? tag.substr(1) : tag);
    *request.mutable_remove_tags() = {off->begin(), off->end()};
    absl::StatusOr<v1::LabelSweepResponse> response = session.CallOnce(&SweepStub::LabelSweep, request);
    if (response.ok())
      session.Report(*response, absl::StrCat(NameOf(*response), ": ", absl::StrJoin(response->tags(), " ")));
    return response.status();
  });
}

void AddNoteCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<NoteArguments>();
  CLI::App* command = app.add_subcommand("note", "Set the note of a sweep, Markdown; without one, print it");
  AddField(*command, "sweep", arguments->request, "Sweep id or name")->required();
  CLI::Option* text = AddField(*command, "note", arguments->request, "The note");
  command->add_option("--file", arguments->file, "Read it from this file")->excludes(text);
  command->add_flag("--clear", arguments->clear, "Take the note off");
  OnUse(*command, session, [&session, arguments] { return SetNote(session, *arguments); });
}

void AddRenameCommand(CLI::App& app, Session& session) {
  auto request = std::make_shared<v1::LabelSweepRequest>();
  CLI::App* command = app.add_subcommand("rename", "Give a sweep another name");
  AddField(*command, "sweep", *request, "Sweep id or name")->required();
  AddField(*command, "name", *request, "Its new name")->required();
  OnUse(*command, session, [&session, request]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::LabelSweepResponse response,
                     session.CallOnce(&SweepStub::LabelSweep, *request));
    session.Report(response,
                   NameOf(response) + (response.changed() ? " has its new name" : " is so already"));
    if (session.people()) PrintNote(NoteOnSameName(session, response.sweep_id()));
    return absl::OkStatus();
  });
}

void AddArchiveCommand(CLI::App& app, Session& session) { AddArchiving(app, session, true); }
void AddUnarchiveCommand(CLI::App& app, Session& session) { AddArchiving(app, session, false); }

void AddRemoveCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<RemoveArguments>();
  CLI::App* command = app.add_subcommand(
      "remove", "Remove sweeps, with what only they need; `inlier restore` undoes it until `inlier gc`");
  command->add_option("sweeps", arguments->sweeps, "Sweep ids or names")->required();
  command->add_flag("--yes,-y", arguments->yes, "Do not ask");
  AddField(*command, "--cancel", arguments->request, "Cancel what still runs or waits");
  AddField(*command, "--dry-run", arguments->request, "Only say what would be removed");
  OnUse(*command, session, [&session, arguments]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<std::string> ids, IdsToRemove(session, *arguments));
    for (const std::string& id : ids) RETURN_IF_ERROR(Remove(session, *arguments, id));
    return absl::OkStatus();
  });
}

void AddRestoreCommand(CLI::App& app, Session& session) {
  auto request = std::make_shared<v1::RestoreSweepRequest>();
  CLI::App* command = app.add_subcommand("restore", "Bring a removed sweep back, as it was");
  AddField(*command, "sweep", *request, "Sweep id, or name: the latest removed one")->required();
  OnUse(*command, session, [&session, request]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::RestoreSweepResponse response,
                     session.CallOnce(&SweepStub::RestoreSweep, *request));
    session.Report(response, NameOf(response) + (response.changed() ? " is back" : " was not removed"));
    return absl::OkStatus();
  });
}

}  // namespace inlier
