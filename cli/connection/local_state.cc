#include "cli/connection/local_state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/files/atomic_file.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/status.h"
#include "rpc/credentials.h"
#include "rpc/endpoint_file.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "local";

void CloseFilesIn(const fs::path& folder) {
  for (const fs::path& entry : EntriesOf(folder)) {
    std::error_code ignored;
    if (!fs::is_regular_file(fs::symlink_status(entry, ignored))) continue;
    fs::permissions(entry, fs::perms::group_all | fs::perms::others_all, fs::perm_options::remove, ignored);
  }
}

// The token in `file`, a new one where there is none.
absl::StatusOr<std::string> TokenIn(const fs::path& file) {
  std::error_code error;
  if (fs::exists(file, error)) return ReadToken(file.string(), "token");
  ASSIGN_OR_RETURN(const std::string token, NewToken());
  RETURN_IF_ERROR(WriteSecretFile(file, token + "\n"));
  return token;
}

}  // namespace

absl::Status CloseStateFolder(const fs::path& dir) {
  std::error_code error;
  if (dir.has_parent_path()) fs::create_directories(dir.parent_path(), error);
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
    const absl::Status status = ErrnoStatus(absl::StrCat("cannot make the folder ", dir.string()));
    return absl::PermissionDeniedError(absl::StrCat(std::string(status.message()), "; name another --dir"));
  }
  struct stat info = {};
  if (::stat(dir.c_str(), &info) != 0) return ErrnoStatus(absl::StrCat("cannot look at ", dir.string()));
  if (!S_ISDIR(info.st_mode))
    return absl::PermissionDeniedError(absl::StrCat(dir.string(), " is not a folder; name another --dir"));
  struct stat link = {};
  if (::lstat(dir.c_str(), &link) != 0) return ErrnoStatus(absl::StrCat("cannot look at ", dir.string()));
  for (const struct stat& owned : {info, link}) {
    if (owned.st_uid == ::geteuid()) continue;
    return absl::PermissionDeniedError(absl::StrCat(
        S_ISLNK(owned.st_mode) ? "the link " : "the folder ", dir.string(), " belongs to another user (",
        owned.st_uid, "), who could read its token and replace its files; name another --dir"));
  }
  if ((info.st_mode & 0777) != 0700 && ::chmod(dir.c_str(), 0700) != 0)
    return ErrnoStatus(absl::StrCat("cannot close ", dir.string(), " to other users"));
  CloseFilesIn(dir);
  CloseFilesIn(dir / "logs");
  return absl::OkStatus();
}

fs::path RunLockFile(const fs::path& dir) { return dir / "run.lock"; }
fs::path UpLockFile(const fs::path& dir) { return dir / "up.lock"; }
fs::path LocalTokensFile(const fs::path& dir) { return dir / "tokens"; }
fs::path WorkerTokenFile(const fs::path& dir) { return dir / "worker.token"; }

absl::StatusOr<std::string> MakeLocalTokens(const fs::path& dir) {
  const fs::path file = LocalTokensFile(dir);
  ASSIGN_OR_RETURN(const std::string token, TokenIn(LocalTokenFile(dir)));
  ASSIGN_OR_RETURN(const std::string worker_token, TokenIn(WorkerTokenFile(dir)));
  const std::vector<TokenEntry> ours = {{Role::kAdmin, kName, Sha256Hex(token)},
                                        {Role::kWork, kName, Sha256Hex(worker_token)}};
  // As `inlier token add`, which may run at the same time.
  ASSIGN_OR_RETURN(const FileLock lock, LockTokensFile(file));
  std::vector<TokenEntry> entries;
  std::error_code error;
  if (fs::exists(file, error)) {
    ASSIGN_OR_RETURN(entries, ReadTokensFile(file));
  }
  // Hashes of tokens whose files are gone.
  const auto holds = [](const std::vector<TokenEntry>& all, const TokenEntry& one) {
    return std::ranges::any_of(all, [&](const auto& each) { return each.sha256 == one.sha256; });
  };
  std::erase_if(entries, [&](const TokenEntry& entry) { return entry.name == kName && !holds(ours, entry); });
  for (const TokenEntry& our : ours) {
    if (!holds(entries, our)) entries.push_back(our);
  }
  RETURN_IF_ERROR(WriteTokensFile(file, entries));
  return token;
}

void RemoveLocalTokens(const fs::path& dir) {
  std::error_code ignored;
  fs::remove(LocalTokenFile(dir), ignored);
  fs::remove(WorkerTokenFile(dir), ignored);
}

}  // namespace inlier
