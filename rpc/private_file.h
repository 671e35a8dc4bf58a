// Files with secrets: whose they are, who may read and write them, and what kind of file they may be.
#ifndef INLIER_RPC_PRIVATE_FILE_H_
#define INLIER_RPC_PRIVATE_FILE_H_

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"

namespace inlier {

// True if the file belongs to this user or to root: no one else can have put it there.
bool IsOurs(const struct stat& file);

// OK if `file` is absent, or belongs to this user or to root, its group may at most read it, and others may do
// nothing. `field` is the configuration's name for it. InvalidArgument with the remedy.
absl::Status CheckPrivate(const std::string& field, const std::string& file);

// OK if a daemon can read the file again when it is renewed, and for an absent file. InvalidArgument with the
// remedy for a pipe, a device or a folder, which is not opened.
absl::Status CheckRenewable(const std::string& field, const std::string& file);

}  // namespace inlier

#endif  // INLIER_RPC_PRIVATE_FILE_H_
