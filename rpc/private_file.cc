#include "rpc/private_file.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/files/regular_file.h"

namespace inlier {

bool IsOurs(const struct stat& file) { return file.st_uid == 0 || file.st_uid == ::geteuid(); }

absl::Status CheckPrivate(const std::string& field, const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return absl::OkStatus();
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", file, " ", what, "; ", remedy, " ", file,
                                                   ", or set insecure: true where every user is trusted"));
  };
  if (!IsOurs(info)) {
    return refuse(
        absl::StrCat("belongs to another user (uid ", info.st_uid, "), who could put another in its place"),
        absl::StrCat("chown ", ::geteuid()));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return refuse("is writable by other users, who could grant themselves access", "chmod go-w");
  if ((info.st_mode & S_IROTH) != 0)
    return refuse("is readable by every user of this machine, who could use what it holds", "chmod o-r");
  return absl::OkStatus();
}

absl::Status CheckRenewable(const std::string& field, const std::string& file) {
  if (file.empty()) return absl::OkStatus();
  const absl::Status opened = RegularFile::Open(file).status();
  if (!absl::IsInvalidArgument(opened)) return absl::OkStatus();  // Any other error shows when it is read.
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", std::string(opened.message()),
                   "; it is read again when it is renewed: write it to a file of mode 0600 and name that"));
}

}  // namespace inlier
