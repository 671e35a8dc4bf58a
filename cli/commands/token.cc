// inlier token: access to the coordinator. Edits the tokens file on the coordinator's machine.
#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/files/file_lock.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/connection/local_state.h"
#include "nlohmann/json.hpp"
#include "rpc/credentials.h"

namespace inlier {
namespace {

struct TokenArguments {
  std::string file, role, name, sha256;
};

std::filesystem::path TokensFile(const Session& session, const TokenArguments& arguments) {
  return arguments.file.empty() ? LocalTokensFile(session.dir) : std::filesystem::path(arguments.file);
}

absl::Status Add(Session& session, const TokenArguments& arguments) {
  const std::filesystem::path file = TokensFile(session, arguments);
  ASSIGN_OR_RETURN(const Role role, RoleFromName(arguments.role));
  ASSIGN_OR_RETURN(const FileLock lock, LockTokensFile(file));
  std::vector<TokenEntry> entries;
  std::error_code error;
  if (std::filesystem::exists(file, error)) {
    ASSIGN_OR_RETURN(entries, ReadTokensFile(file));
  }
  ASSIGN_OR_RETURN(const std::string token, NewToken());
  entries.push_back({role, arguments.name, Sha256Hex(token)});
  RETURN_IF_ERROR(WriteTokensFile(file, entries));
  if (session.json) {
    PrintJson(
        {{"token", token}, {"role", arguments.role}, {"name", arguments.name}, {"file", file.string()}});
    return absl::OkStatus();
  }
  Print(token + "\n");
  if (session.people())
    PrintError(
        absl::StrCat("this is the only time the token is shown; ", file.string(),
                     " keeps its hash. The coordinator reads it with --set tokens_file=", file.string()));
  return absl::OkStatus();
}

absl::Status List(Session& session, const TokenArguments& arguments) {
  ASSIGN_OR_RETURN(const std::vector<TokenEntry> entries, ReadTokensFile(TokensFile(session, arguments)));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  TextTable table({"role", "name", "sha256"});
  for (const TokenEntry& entry : entries) {
    list.push_back({{"role", RoleName(entry.role)}, {"name", entry.name}, {"sha256", entry.sha256}});
    table.AddRow({RoleName(entry.role), entry.name, entry.sha256.substr(0, 12)});
  }
  session.json ? PrintJson(list) : Print(table.ToString());
  return absl::OkStatus();
}

absl::Status Remove(Session& session, const TokenArguments& arguments) {
  const std::filesystem::path file = TokensFile(session, arguments);
  ASSIGN_OR_RETURN(const FileLock lock, LockTokensFile(file));
  ASSIGN_OR_RETURN(std::vector<TokenEntry> entries, ReadTokensFile(file));
  const std::size_t removed = std::erase_if(entries, [&](const TokenEntry& entry) {
    return entry.name == arguments.name && absl::StartsWith(entry.sha256, arguments.sha256);
  });
  if (removed == 0) {
    const std::string which =
        arguments.sha256.empty() ? "" : absl::StrCat(" whose hash begins with ", arguments.sha256);
    return absl::NotFoundError(absl::StrCat(file.string(), " has no token of ", arguments.name, which,
                                            "; `inlier token list` lists all"));
  }
  RETURN_IF_ERROR(WriteTokensFile(file, entries));
  if (session.mode() == OutputMode::kJson) {
    PrintJson(nlohmann::json{{"removed", removed}});
  } else if (session.people()) {
    Print(absl::StrCat(removed, removed == 1 ? " token of " : " tokens of ", arguments.name,
                       " removed; a running coordinator notices within a second\n"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddTokenCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TokenArguments>();
  CLI::App* command =
      app.add_subcommand("token", "Manage access to the coordinator: add, list and remove bearer tokens");
  command->require_subcommand(1);
  command->add_option("--file", arguments->file, "The coordinator's tokens_file; default: DIR/tokens");
  CLI::App* add = command->add_subcommand("add", "Print a new token, once, and store its hash");
  add->add_option("--role", arguments->role,
                  "read, submit (and read), work, or admin (and submit; may change the sweeps of others)")
      ->required()
      ->check(CLI::IsMember({"read", "submit", "work", "admin"}));
  add->add_option("--name", arguments->name, "Name of the owner, who may have several")->required();
  add->callback([&session, arguments] { session.Finish(Add(session, *arguments)); });
  CLI::App* list = command->add_subcommand("list", "List roles, names and the beginnings of the hashes");
  list->callback([&session, arguments] { session.Finish(List(session, *arguments)); });
  CLI::App* remove = command->add_subcommand("remove", "Revoke every token of a name, or one");
  remove->add_option("--name", arguments->name, "Name of the owner")->required();
  remove->add_option("--sha256", arguments->sha256, "Only the one whose hash begins so");
  remove->callback([&session, arguments] { session.Finish(Remove(session, *arguments)); });
}

}  // namespace inlier
