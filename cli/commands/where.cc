// inlier where: which coordinator or folder the other verbs use, and why.
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

constexpr double kWhereSeconds = 5;

void Show(const Session& session, const Answerer& answerer) {
  const bool stored = answerer.kind == Answerer::kStored;
  const std::string file = session.settings_file().string();
  std::error_code error;
  const bool has_file = !file.empty() && std::filesystem::exists(file, error);
  const std::string by = session.choice().by().empty() ? "default" : session.choice().by();
  if (session.json) {
    return PrintJson({{"answers", stored ? "folder" : "coordinator"},
                      {"address", answerer.address},
                      {"dir", session.dir.string()},
                      {"chosen_by", by},
                      {"settings_file", file},
                      {"settings_file_exists", has_file}});
  }
  if (!session.people()) return Print((stored ? session.dir.string() : answerer.address) + "\n");
  std::string text = absl::StrCat(
      "coordinator  ",
      stored ? "none is running; commands that change nothing read the folder" : answerer.address, "\n");
  if (answerer.kind != Answerer::kServer) {
    absl::StrAppend(&text, "folder       ", session.dir.string(),
                    answerer.kind == Answerer::kDefault ? " (it has no coordinator and no database)" : "",
                    "\n");
  }
  absl::StrAppend(&text, "chosen by    ", by, "\n");
  if (!file.empty()) absl::StrAppend(&text, "settings     ", file, has_file ? "" : " (not there)", "\n");
  Print(text);
}

absl::Status Where(Session& session) {
  ASSIGN_OR_RETURN(const Answerer answerer, session.FindAnswerer());
  absl::Status answered;
  if (answerer.kind != Answerer::kStored) {
    v1::ListSweepsRequest request;
    request.set_page_size(1);
    answered = session.Call(&SweepStub::ListSweeps, request, kWhereSeconds).status();
  }
  if (answered.ok() || !session.json) Show(session, answerer);
  return answered;
}

}  // namespace

void AddWhereCommand(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "where", "Print which coordinator or folder the other commands use, why, and whether it answers");
  command->callback([&session] { session.Finish(Where(session)); });
}

}  // namespace inlier
