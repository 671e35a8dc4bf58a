#include "base/files/checkpoint_tar.h"

#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/run_program.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr auto kTarHours = std::chrono::hours(2);  // Of one checkpoint.
constexpr std::size_t kEmptyTarBytes = 10240;      // A record of zeros, as tar writes it.

absl::Status RunTar(std::vector<std::string> arguments, const fs::path& tar) {
  const char* program = fs::exists("/usr/bin/tar") ? "/usr/bin/tar" : "/bin/tar";
  return OutputOf({.program = program,
                   .arguments = std::move(arguments),
                   .environment = {"LC_ALL=C", "PATH=/usr/bin:/bin"},
                   .limit = kTarHours},
                  absl::StrCat("tar of ", tar.string()))
      .status();
}

}  // namespace

absl::Status PackCheckpoint(const fs::path& path, const fs::path& tar) {
  if (path.empty()) return WriteFile(tar, std::string(kEmptyTarBytes, '\0'));
  return RunTar({"--create", "--file", tar.string(), "--format=gnu", "--sort=name", "--mtime=@0", "--owner=0",
                 "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--hard-dereference", "--directory",
                 path.parent_path().string(), "--", path.filename().string()},
                tar);
}

absl::StatusOr<fs::path> UnpackCheckpoint(const fs::path& tar, const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  RETURN_IF_ERROR(MakeFolder(folder));
  RETURN_IF_ERROR(
      RunTar({"--extract", "--file", tar.string(), "--directory", folder.string(), "--no-same-owner"}, tar));
  const std::vector<fs::path> entries = EntriesOf(folder);
  return entries.empty() ? fs::path() : entries.front();
}

}  // namespace inlier
