#include "base/processes/other_user.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {

const char* BecomeUser(const std::string& name) {
  if (name.empty()) return nullptr;
  const passwd* const user = ::getpwnam(name.c_str());
  if (user == nullptr) return "find the user";
  if (::initgroups(name.c_str(), user->pw_gid) != 0 || ::setgid(user->pw_gid) != 0 ||
      ::setuid(user->pw_uid) != 0)
    return "become the user";
  ::setenv("HOME", user->pw_dir, 1);
  ::setenv("USER", name.c_str(), 1);
  ::setenv("LOGNAME", name.c_str(), 1);
  return nullptr;
}

absl::Status GiveTo(const std::string& user, const std::filesystem::path& path) {
  if (user.empty()) return absl::OkStatus();
  const passwd* const found = ::getpwnam(user.c_str());
  if (found != nullptr && ::chmod(path.c_str(), 0700) == 0 &&
      ::chown(path.c_str(), found->pw_uid, found->pw_gid) == 0)
    return absl::OkStatus();
  return ErrnoStatus(absl::StrCat("cannot give ", path.string(), " to ", user));
}

}  // namespace inlier
