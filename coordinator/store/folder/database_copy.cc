#include "coordinator/store/folder/database_copy.h"

#include <stdlib.h>

#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/store/folder/binding.h"
#include "rpc/file_stamp.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kDatabase[] = "inlier.db", kLog[] = "inlier.db-wal";
constexpr int kCopiesTried = 5;

absl::Status CopyFile(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error) fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, error);
  if (!error) return absl::OkStatus();
  const std::string text =
      absl::StrCat("cannot copy ", from.string(), " to ", to.string(), ": ", error.message());
  if (error == std::errc::no_space_on_device || error == std::errc::file_too_large)
    return absl::ResourceExhaustedError(absl::StrCat(text, "; name a place with more space with TMPDIR"));
  if (error == std::errc::permission_denied) return absl::PermissionDeniedError(text);
  return error == std::errc::no_such_file_or_directory ? absl::NotFoundError(text) : absl::UnknownError(text);
}

absl::Status CopyDatabase(const fs::path& from, const fs::path& to) {
  const std::vector<std::string> files = {(from / kDatabase).string(), (from / kLog).string()};
  for (int tries = 0; tries < kCopiesTried; ++tries) {
    const FileStamp before(files);
    std::error_code error;
    fs::remove(to / kLog, error);
    absl::Status copied = CopyFile(from / kDatabase, to / kDatabase);
    if (copied.ok() && fs::exists(from / kLog, error)) copied = CopyFile(from / kLog, to / kLog);
    if (FileStamp(files) == before) return copied;  // The copy of a log that is cut meanwhile fails.
  }
  return absl::UnavailableError(absl::StrCat(
      (from / kDatabase).string(),
      " changes while it is read: a coordinator has started, here or on another machine; try again, or "
      "name it with --server HOST:PORT"));
}

}  // namespace

absl::StatusOr<DatabaseCopy> DatabaseCopy::Make(const fs::path& state_dir) {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "inlier-read-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    return ErrnoStatus("cannot make a temporary folder; name a place for it with TMPDIR");
  DatabaseCopy copy{fs::path(name)};
  RETURN_IF_ERROR(CheckLogBelongs(state_dir));
  RETURN_IF_ERROR(CopyDatabase(state_dir, copy.path()));
  return copy;
}

DatabaseCopy::~DatabaseCopy() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace inlier
