// Which coordinator the objects below a prefix belong to: <prefix>/owner in the bucket has the same random id as
// artifacts/s3.owner in its state folder. Another coordinator must not collect them.
//
// Thread safety: on any thread; waits for disk and network.
#ifndef INLIER_S3_PREFIX_OWNER_H_
#define INLIER_S3_PREFIX_OWNER_H_

#include <filesystem>

#include "absl/status/status.h"
#include "s3/client.h"

namespace inlier {

// OK if the prefix belongs to the coordinator of `state_dir`, or to none before. FailedPrecondition, with the remedy,
// when it belongs to another. REQUIRES: artifacts/ exists.
absl::Status ClaimPrefix(S3Client& client, const std::filesystem::path& state_dir);

}  // namespace inlier

#endif  // INLIER_S3_PREFIX_OWNER_H_
