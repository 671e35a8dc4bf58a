#include "base/data/data_roots.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// `path` with its links resolved as far as it exists and may be read.
fs::path Resolved(const fs::path& path) {
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(path, error);
  if (error) resolved = path.lexically_normal();
  // A folder named with a slash at its end has an empty last part.
  return resolved.has_filename() || resolved == resolved.root_path() ? resolved : resolved.parent_path();
}

bool IsBelow(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

DataRoots DataRoots::Below(const std::vector<fs::path>& folders) {
  DataRoots roots;
  roots.limited_ = true;
  for (const fs::path& folder : folders) {
    const fs::path resolved = Resolved(folder);
    if (std::ranges::find(roots.folders_, resolved) == roots.folders_.end())
      roots.folders_.push_back(resolved);
  }
  return roots;
}

bool DataRoots::Contains(const fs::path& resolved) const {
  return std::ranges::any_of(folders_,
                             [&resolved](const fs::path& folder) { return IsBelow(resolved, folder); });
}

absl::Status DataRoots::Check(const fs::path& path) const {
  return !limited_ || Contains(Resolved(path)) ? absl::OkStatus() : Outside(path);
}

absl::Status DataRoots::CheckOpened(int fd, const fs::path& path) const {
  if (!limited_) return absl::OkStatus();
  std::error_code error;
  const fs::path resolved = fs::read_symlink(absl::StrCat("/proc/self/fd/", fd), error);
  return !error && resolved.is_absolute() && Contains(resolved) ? absl::OkStatus() : Outside(path);
}

absl::Status DataRoots::Outside(const fs::path& path) const {
  std::string folders;
  for (const fs::path& folder : folders_)
    absl::StrAppend(&folders, folders.empty() ? "" : ", ", folder.string());
  const fs::path above = path.lexically_normal().parent_path();
  const std::string folder = (above.has_relative_path() ? above : path).string();
  return absl::InvalidArgumentError(absl::StrCat(
      path.string(), " is not in a folder that this worker reads data from, or leads out of it by a link (",
      folders.empty() ? "it has none" : absl::StrCat("they are: ", folders),
      "); put the data into one of them, or add their folder to the worker's setting data_roots: "
      "`--worker-set data_roots=",
      folder, "` of inlier up and run, `--set data_roots=", folder, "` of inlier-worker"));
}

}  // namespace inlier
