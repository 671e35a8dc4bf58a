// How much memory a message will take, from its bytes on the wire: known before any of it is taken.
//
// An empty sub-message is two bytes on the wire and more than a hundred in memory, so 8 MiB could unpack to a
// gigabyte. The bytes are walked by the types of the fields without allocation, until the sum passes the limit. The
// sum is an estimate, without what the allocator adds.
//
// Thread safety: a pure function; any thread.
#ifndef INLIER_RPC_UNPACKED_SIZE_H_
#define INLIER_RPC_UNPACKED_SIZE_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>

#include "absl/status/statusor.h"

namespace inlier {

inline constexpr std::size_t kUnpackedBytesMax = 64 << 20;

// InvalidArgument, with the remedy, where the message takes more than `most` or is not of `type`, a generated one.
absl::StatusOr<std::size_t> UnpackedSize(const google::protobuf::Descriptor& type,
                                         google::protobuf::io::ZeroCopyInputStream& bytes,
                                         std::size_t most = kUnpackedBytesMax);

}  // namespace inlier

#endif  // INLIER_RPC_UNPACKED_SIZE_H_
