#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "coordinator/store/database.h"

namespace inlier {

absl::StatusOr<std::unique_ptr<StateLock>> StateLock::Take(const std::filesystem::path& state_dir) {
  const std::string path = (state_dir / "inlier.lock").string();
  ASSIGN_OR_RETURN(std::optional<FileLock> lock, FileLock::TryAcquire(path));
  if (!lock) {
    absl::StatusOr<std::string> pid = ReadFile(path);
    while (pid.ok() && !pid->empty() && (pid->back() < '0' || pid->back() > '9')) pid->pop_back();
    return absl::FailedPreconditionError(
        absl::StrCat("the state folder ", state_dir.string(), " is in use by another coordinator (pid ",
                     !pid.ok() || pid->empty() ? "unknown" : *pid,
                     "); stop that one, or name another folder with --set state_dir=FOLDER"));
  }
  const std::string pid = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(lock->fd(), 0) != 0 ||
      ::pwrite(lock->fd(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return ErrnoStatus(absl::StrCat("writing the lock file ", path));
  }
  return std::unique_ptr<StateLock>(new StateLock(*std::move(lock)));
}

}  // namespace inlier
