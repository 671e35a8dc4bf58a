// inlier program test: a program of one's own, run as a worker would run it.
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/connection/local_mode.h"

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
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(worker.c_str(), pointers.data());
  return ErrnoStatus(absl::StrCat("cannot start ", worker));
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
}

}  // namespace inlier
