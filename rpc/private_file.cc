#include "rpc/private_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace inlier {

absl::Status CheckPrivate(const std::string& field, const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return absl::OkStatus();
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", file, " ", what, "; ", remedy, " ", file,
                                                   ", or set insecure: true where every user is trusted"));
  };
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return refuse(absl::StrCat("belongs to another user (uid ", info.st_uid,
                               "), who could put another in its place"),
                  absl::StrCat("chown ", ::geteuid()));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return refuse("is writable by other users, who could grant themselves access", "chmod go-w");
  if ((info.st_mode & S_IROTH) != 0)
    return refuse("is readable by every user of this machine, who could use what it holds", "chmod o-r");
  return absl::OkStatus();
}

}  // namespace inlier
