// How much memory a message will take, from its bytes on the wire: known before any of it is taken.
//
// An empty sub-message is two bytes on the wire and some hundred in memory, so 8 MiB could unpack to a
// gigabyte. The bytes are only walked here, by the types of the fields; nothing is allocated, and the walk
// ends where the sum passes what is allowed. The sum is an estimate: that of the objects, without what the
// allocator adds.
//
// Thread safety: immutable after construction.
#ifndef INLIER_RPC_UNPACKED_SIZE_H_
#define INLIER_RPC_UNPACKED_SIZE_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// Most that one message may take.
inline constexpr std::size_t kUnpackedBytesMax = 64 << 20;

class UnpackedSize {
 public:
  // Of messages of `type`, a generated one.
  explicit UnpackedSize(const google::protobuf::Descriptor& type);
  ~UnpackedSize();

  // InvalidArgument: it takes more than `most`, with the remedy; or it is not a message of the type.
  absl::StatusOr<std::size_t> Of(google::protobuf::io::ZeroCopyInputStream& bytes,
                                 std::size_t most = kUnpackedBytesMax) const;
  // The same of a message that is little work to read; nullopt: it is more than `work`, and the walk ended there.
  // Each part of a message and each 16 bytes of its texts count one; fields of type `bytes`, which are only copied,
  // do not count.
  absl::StatusOr<std::optional<std::size_t>> OfUpTo(google::protobuf::io::ZeroCopyInputStream& bytes,
                                                    std::size_t work) const;

 private:
  struct Field;
  struct Type;
  class Walk;

  const Type* TypeOf(const google::protobuf::Descriptor& descriptor);

  const google::protobuf::Descriptor& descriptor_;
  std::map<const google::protobuf::Descriptor*, std::unique_ptr<Type>> types_;
  const Type* root_;
};

}  // namespace inlier

#endif  // INLIER_RPC_UNPACKED_SIZE_H_
