#include "coordinator/backups/backup_folder.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kReason[] = "scheduled";
constexpr char kPrefix[] = "inlier.db.v";

std::vector<fs::path> FilesOf(const fs::path& folder) {
  std::vector<fs::path> files;
  for (fs::path& entry : EntriesOf(folder)) {
    std::error_code ignored;
    if (fs::is_regular_file(fs::symlink_status(entry, ignored))) files.push_back(std::move(entry));
  }
  return files;
}

// Left by a coordinator that was killed while it wrote.
void RemoveParts(const fs::path& folder) {
  for (const fs::path& file : FilesOf(folder)) {
    const std::string name = file.filename();
    std::error_code ignored;
    if (absl::StartsWith(name, kPrefix) && absl::StrContains(name, absl::StrCat(".", kReason, ".")) &&
        absl::EndsWith(name, ".part"))
      fs::remove(file, ignored);
  }
}

}  // namespace

std::optional<ScheduledBackup> AsScheduledBackup(const fs::path& file) {
  const std::string name = file.filename();
  int version = 0, milliseconds = 0, end = 0;
  std::tm time{};
  const int read = std::sscanf(name.c_str(), "inlier.db.v%9d.%4d%2d%2dT%2d%2d%2d.%3dZ.scheduled%n", &version,
                               &time.tm_year, &time.tm_mon, &time.tm_mday, &time.tm_hour, &time.tm_min,
                               &time.tm_sec, &milliseconds, &end);
  if (read != 8 || end == 0 || static_cast<std::size_t>(end) != name.size()) return std::nullopt;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  ScheduledBackup found{.file = file, .at = {std::int64_t{::timegm(&time)} * 1000 + milliseconds}};
  // Only what AutomaticBackupPath writes.
  if (AutomaticBackupPath(file.parent_path() / "inlier.db", version, found.at, kReason) != file)
    return std::nullopt;
  return found;
}

std::vector<ScheduledBackup> ScheduledBackups(const fs::path& folder) {
  std::vector<ScheduledBackup> found;
  for (const fs::path& file : FilesOf(folder)) {
    if (std::optional<ScheduledBackup> backup = AsScheduledBackup(file)) found.push_back(*std::move(backup));
  }
  std::sort(found.begin(), found.end(),
            [](const ScheduledBackup& a, const ScheduledBackup& b) { return a.at < b.at; });
  return found;
}

absl::StatusOr<RotatedBackup> BackUpAndRotate(const fs::path& state_dir, const fs::path& folder,
                                              std::size_t keep, const std::function<bool()>& must_stop) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat("backup.folder ", folder.string(), " is no folder",
                                            error ? ": " : "", error ? error.message() : "",
                                            "; mount its disk, make it, or name another one"));
  }
  RemoveParts(folder);
  BackupOptions options;
  options.must_stop = must_stop;
  options.reason = kReason;
  RotatedBackup rotated;
  ASSIGN_OR_RETURN(rotated.made, BackupStateFolder(state_dir, folder, options));
  std::vector<ScheduledBackup> all = ScheduledBackups(folder);
  std::erase_if(all, [&](const ScheduledBackup& backup) { return backup.file == rotated.made.file; });
  // Those of a clock that was wrong go first.
  std::stable_partition(all.begin(), all.end(),
                        [now = WallNow()](const auto& backup) { return now < backup.at; });
  const std::size_t stay = std::max<std::size_t>(keep, 1) - 1;
  for (std::size_t i = 0; i + stay < all.size(); ++i)
    if (fs::remove(all[i].file, error)) ++rotated.removed;
  return rotated;
}

}  // namespace inlier
