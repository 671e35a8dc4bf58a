// inlier program: a program of one's own run as a worker would run it; the source that a sweep's numbers come from.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/processes/null_terminated.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/connection/local_mode.h"
#include "cli/query_rows.h"

namespace inlier {
namespace {

// Becomes inlier-worker, which runs programs.
absl::Status TestProgram(const Session& session, const std::string& folder,
                         const std::vector<std::string>& settings) {
  const std::string worker = (ProgramFolder() / "inlier-worker").string();
  std::vector<std::string> words = {worker, "test-program", folder};
  words.insert(words.end(), settings.begin(), settings.end());
  if (session.json) words.emplace_back("--json");
  if (session.quiet) words.emplace_back("--quiet");
  ::execv(worker.c_str(), NullTerminated(words).data());
  return ErrnoStatus(absl::StrCat("cannot start ", worker));
}

constexpr std::size_t kDigestShown = 12;  // Digits of a digest in messages.

// The digest of the program of a sweep, or the beginning of one that was given itself.
absl::StatusOr<std::string> DigestOf(Session& session, const std::string& name) {
  if (name.size() >= kDigestShown && std::ranges::all_of(name, absl::ascii_isxdigit)) return name;
  ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.GetSweep(name));
  if (sweep.spec().has_program()) return sweep.spec().program().digest();
  return absl::NotFoundError(
      absl::StrCat(sweep.sweep_id(),
                   " is of inlier's own models; `inlier query \"SELECT trial, build FROM attempts\"` has "
                   "the build of each attempt"));
}

absl::Status ShowSource(Session& session, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string digest, DigestOf(session, name));
  ASSIGN_OR_RETURN(const v1::QueryResponse found,
                   QueryRows(session,
                             absl::StrCat("SELECT program, digest, commit_id AS \"commit\", diff FROM "
                                          "program_sources WHERE digest GLOB ",
                                          SqlText(absl::AsciiStrToLower(digest) + "*")),
                             1));
  if (found.rows().empty())
    return absl::NotFoundError(absl::StrCat(
        "of source with digest ", digest.substr(0, kDigestShown),
        " nothing is stored: its folder was in no git repository with a commit when a sweep was submitted"));
  if (session.json) {
    PrintJson(RowsJson(found)[0]);
    return absl::OkStatus();
  }
  const v1::QueryRow& row = found.rows(0);
  const std::string& diff = row.values(3).text();
  if (session.people())
    Print(absl::StrCat("program ", row.values(0).text(), "\ndigest  ", row.values(1).text(), "\ncommit  ",
                       row.values(2).text(), "\n",
                       diff.empty() ? "its files are those of the commit\n" : "\n"));
  PrintData(diff);
  return absl::OkStatus();
}

}  // namespace

void AddProgramCommand(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("program", "Programs of one's own (docs/guides/programs.md)");
  command->require_subcommand(1);
  CLI::App* test = command->add_subcommand("test",
                                           "Run a program as a worker would: from scratch, stopped and "
                                           "resumed, evaluated; say what it does wrong");
  auto folder = std::make_shared<std::string>(".");
  auto settings = std::make_shared<std::vector<std::string>>();
  test->add_option("folder", *folder,
                   "The program's folder, with inlier-program.yaml; the current one when not given");
  test->add_option("--set", *settings, "A parameter, as lr=0.1; repeatable");
  test->callback([&session, folder, settings] { session.Finish(TestProgram(session, *folder, *settings)); });
  CLI::App* source = command->add_subcommand(
      "source", "Print the source that a sweep's numbers come from: the commit, and what differed from it");
  auto name = std::make_shared<std::string>();
  source
      ->add_option("sweep", *name,
                   "Sweep id or name, or the first 12 digits or more of the digest of a program's files")
      ->required();
  OnUse(*source, session, [&session, name] { return ShowSource(session, *name); });
}

}  // namespace inlier
