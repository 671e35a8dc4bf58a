#include "core/hugging_face/export_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

fs::path Plain(const fs::path& target) {
  const fs::path whole = fs::absolute(target).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

bool IsModel(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(folder / "config.json", error)) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error)) return false;
  }
  return !error;
}

}  // namespace

absl::Status ExportFolder::Check(const fs::path& target, bool replace) {
  std::error_code error;
  const fs::path place = Plain(target);
  if (!fs::exists(place, error) || (fs::is_directory(place, error) && fs::is_empty(place, error)))
    return absl::OkStatus();
  const char* problem = ": exists, and nothing in it is overwritten; name another folder, or give --force";
  if (replace && fs::is_symlink(place, error)) {
    problem = ": is a link; name the folder itself";
  } else if (replace) {
    if (IsModel(place)) return absl::OkStatus();
    problem =
        ": is not a folder with a model alone (config.json, no folders), and stays as it is; "
        "name another folder";
  }
  return absl::AlreadyExistsError(place.string() + problem);
}

absl::StatusOr<ExportFolder> ExportFolder::Make(const fs::path& target, bool replace) {
  RETURN_IF_ERROR(Check(target, replace));
  const fs::path place = Plain(target);
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  std::string name = (place.parent_path() / ("." + place.filename().string() + ".XXXXXX")).string();
  if (error || ::mkdtemp(name.data()) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(place.string(), ": cannot be made: ", error ? error.message() : std::strerror(errno)));
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(name.c_str(), 0777 & ~mask);
  return ExportFolder(place, name, replace);
}

ExportFolder::ExportFolder(ExportFolder&& other) noexcept
    : target_(std::move(other.target_)),
      made_(std::exchange(other.made_, fs::path())),
      replace_(other.replace_) {}

ExportFolder::~ExportFolder() {
  std::error_code ignored;
  if (!made_.empty()) fs::remove_all(made_, ignored);
}

absl::Status ExportFolder::Write(std::string_view name, std::string_view content) const {
  return WriteFileAtomically(made_ / name, content);
}

absl::Status ExportFolder::Commit() {
  std::error_code error;
  RETURN_IF_ERROR(SyncPath(made_));
  const bool exchange = replace_ && fs::exists(target_, error) && !fs::is_empty(target_, error);
  const int done = exchange ? ::renameat2(AT_FDCWD, made_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE)
                            : ::rename(made_.c_str(), target_.c_str());
  if (done != 0) {
    const int reason = errno;
    if (!exchange && (reason == ENOTEMPTY || reason == EEXIST)) return Check(target_, /*replace=*/false);
    return absl::UnavailableError(
        absl::StrCat(target_.string(), ": cannot be put in place: ", std::strerror(reason)));
  }
  if (!exchange) made_.clear();
  return SyncPath(target_.parent_path());
}

}  // namespace inlier
