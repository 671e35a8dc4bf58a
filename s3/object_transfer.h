// A file to an object and back, each continued where it broke.
//
// An object is written whole or not at all: in one request, or, where it is larger than a part, in parts that
// the store keeps until they are put together. A broken upload finds its parts and sends the rest. A download
// continues the part file, and gives it its name only with the right digest.
//
// Thread safety: pure functions over their arguments; they wait for disk and network.
#ifndef INLIER_S3_OBJECT_TRANSFER_H_
#define INLIER_S3_OBJECT_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/files/part_file.h"
#include "s3/client.h"

namespace inlier {

struct S3Progress {
  std::function<bool()> is_cancelled{};
  std::function<void(std::uint64_t bytes, std::uint64_t total)> on_bytes{};  // How many have arrived.
  std::function<void(std::uint64_t bytes)> on_moved{};                       // Further ones of this call.
};

enum class S3Existing {
  kKeepRecent,  // Written again when it is older than 30 min: `inlier gc` may be about to remove it.
  kKeep,
};

// Sends the file `fd`; true when it sent anything. DataLoss, before sending, when its SHA-256 is not `sha256`.
absl::StatusOr<bool> SendObject(S3Client& client, const std::string& sha256, int fd, S3Existing existing,
                                const S3Progress& progress);

// Continues `part` to the artifact `sha256`, and completes it. NotFound: there is no such object. DataLoss: its
// content has another digest; the next call begins again.
absl::Status FetchObject(S3Client& client, const std::string& sha256, PartFile& part,
                         const S3Progress& progress);

// Moves a damaged object of `sha256` to its DamagedKeyOf; false where it was too large and was removed.
absl::StatusOr<bool> MoveDamagedAway(S3Client& client, const std::string& sha256);

}  // namespace inlier

#endif  // INLIER_S3_OBJECT_TRANSFER_H_
