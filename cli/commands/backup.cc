// inlier backup: a checked copy of the database, with the coordinator running or stopped.
#include "coordinator/store/backup.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "cli/commands.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

absl::Status Backup(Session& session, const std::string& destination, std::size_t keep) {
  if (!session.server.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("a backup copies the database file: run `inlier backup` with --dir on the machine of ",
                     session.server, ", without --server"));
  }
  const bool show = session.people() && StderrIsTerminal();
  BackupOptions options;
  options.keep = keep;
  if (show) {
    options.progress = [](std::uint64_t done, std::uint64_t total) {
      PrintProgress(absl::StrFormat("backup %3.0f %%", total == 0 ? 100.0 : 100.0 * done / total));
    };
  }
  const absl::StatusOr<BackupResult> made = BackupStateFolder(session.dir, destination, options);
  if (show) PrintProgress("");
  RETURN_IF_ERROR(made.status());
  const double seconds = ToSeconds(made->duration);
  if (session.json) {
    PrintJson({{"file", made->file.string()},
               {"bytes", made->bytes},
               {"schema_version", made->schema_version},
               {"seconds", seconds},
               {"removed", made->removed}});
  } else if (session.people()) {
    Print(absl::StrFormat("%s: %d bytes, schema version %d, checked, in %.2f s%s\n", made->file.string(),
                          made->bytes, made->schema_version, seconds,
                          keep == 0 ? "" : absl::StrFormat("; %d older removed", made->removed)));
  } else {
    Print(made->file.string() + "\n");
  }
  return absl::OkStatus();
}

}  // namespace

void AddBackupCommand(CLI::App& app, Session& session) {
  auto destination = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "backup", "Make a checked copy of the database of --dir; the coordinator may be running");
  command
      ->add_option("destination", *destination,
                   "New file, or a folder (the file name then has version and time). Never overwrites")
      ->required();
  auto keep = std::make_shared<std::size_t>(0);
  command
      ->add_option(
          "--keep", *keep,
          "Then remove the oldest backups of the folder that were made with --keep, until so many are left")
      ->check(CLI::Range(1, 100000));
  command->callback([&session, destination, keep] { session.Finish(Backup(session, *destination, *keep)); });
}

}  // namespace inlier
