#include "rpc/unpacked_size.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

constexpr int kDepthMax = 100;       // As protobuf's own.
constexpr std::size_t kNumber = 16;  // An unknown one, or one of a list that has grown.
constexpr std::size_t kPacked = 8;   // In memory for each byte of a packed list.
constexpr std::size_t kText = 16 + sizeof(std::string);
constexpr std::size_t kPointer = sizeof(void*);  // To a message, in a list.
constexpr std::size_t kMapNode = 40;  // An entry of a map, without the pointer, its key and its value.

std::size_t EmptyBytes(const google::protobuf::Descriptor& type) {
  thread_local std::unordered_map<const google::protobuf::Descriptor*, std::size_t> known;
  const auto [at, is_new] = known.try_emplace(&type);
  if (is_new) {
    const google::protobuf::Message& empty =
        *google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
    at->second = type.options().map_entry() ? kMapNode : empty.GetReflection()->SpaceUsedLong(empty);
  }
  return at->second;
}

class Walk {
 public:
  Walk(google::protobuf::io::ZeroCopyInputStream& bytes, std::size_t most) : in_(&bytes), most_(most) {}

  // Adds the message that ends with the stream or at its limit. False where it is damaged or too large.
  bool Message(const google::protobuf::Descriptor& type, int depth) {
    if (depth > kDepthMax || !Add(EmptyBytes(type))) return false;
    while (const std::uint32_t tag = in_.ReadTag()) {
      if (!Field(type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag)), tag, depth)) return false;
    }
    return in_.ConsumedEntireMessage();
  }
  std::size_t sum() const { return sum_; }

 private:
  bool Add(std::size_t bytes) { return (sum_ += bytes) <= most_; }

  // `field`: nullptr where it is unknown.
  bool Field(const FieldDescriptor* field, std::uint32_t tag, int depth) {
    std::uint64_t number = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        return in_.ReadVarint64(&number) && Add(kNumber);
      case WireFormatLite::WIRETYPE_FIXED64:
        return in_.Skip(8) && Add(kNumber);
      case WireFormatLite::WIRETYPE_FIXED32:
        return in_.Skip(4) && Add(kNumber);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return Delimited(field, depth);
      default:
        return false;  // A group, which no message of ours has.
    }
  }
  bool Delimited(const FieldDescriptor* field, int depth) {
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) return false;
    if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const auto limit = in_.PushLimit(length);
      const bool whole =
          in_.BytesUntilLimit() == length && Add(kPointer) && Message(*field->message_type(), depth + 1);
      in_.PopLimit(limit);
      return whole;
    }
    const bool packed = field != nullptr && field->cpp_type() != FieldDescriptor::CPPTYPE_STRING;
    return in_.Skip(length) && Add(kText + static_cast<std::size_t>(length) * (packed ? kPacked : 1));
  }

  google::protobuf::io::CodedInputStream in_;
  const std::size_t most_;
  std::size_t sum_ = 0;
};

}  // namespace

absl::StatusOr<std::size_t> UnpackedSize(const google::protobuf::Descriptor& type,
                                         google::protobuf::io::ZeroCopyInputStream& bytes, std::size_t most) {
  Walk walk(bytes, most);
  if (walk.Message(type, 0)) return walk.sum();
  return absl::InvalidArgumentError(absl::StrCat(
      "the message (", type.name(), ") ",
      walk.sum() > most
          ? absl::StrCat(
                "takes more than ", most >> 20,
                " MiB of memory when it is unpacked, the maximum; it has too many parts: split it, or "
                "give a range in place of values")
          : "cannot be read: it is damaged, nested too deep, or of another version; install the same version "
            "of inlier on both sides"));
}

}  // namespace inlier
