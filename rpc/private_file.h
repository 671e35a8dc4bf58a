// Files with secrets: who may read and write them.
#ifndef INLIER_RPC_PRIVATE_FILE_H_
#define INLIER_RPC_PRIVATE_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace inlier {

// OK if `file` belongs to this user or to root, its group may at most read it, and others may do nothing.
// `field` is the configuration's name for it. InvalidArgument with the remedy; also OK for a file that is not
// there.
absl::Status CheckPrivate(const std::string& field, const std::string& file);

}  // namespace inlier

#endif  // INLIER_RPC_PRIVATE_FILE_H_
