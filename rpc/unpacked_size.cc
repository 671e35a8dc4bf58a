#include "rpc/unpacked_size.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

constexpr int kDepthMax = 100;  // As protobuf's own.
constexpr std::size_t kPointer = sizeof(void*);
constexpr std::size_t kMapNode = 64;  // An entry of a map without its key and value.
constexpr std::size_t kUnknownField = 2 * sizeof(void*);
constexpr std::size_t kInlineText = 15;  // A std::string keeps so much in itself.
constexpr std::size_t kTextPerWork = 16;
constexpr std::size_t kAnyWork = std::numeric_limits<std::size_t>::max();

std::size_t TextBytes(std::size_t length) {
  return sizeof(std::string) + (length > kInlineText ? length + 1 : 0);
}

}  // namespace

struct UnpackedSize::Field {
  enum class Kind { kUnknown, kScalar, kText, kMessage };
  Kind kind = Kind::kUnknown;
  std::size_t element = 0;     // Bytes of each; of a text or message those in addition to its own.
  std::size_t per_packed = 0;  // Bytes in memory for each byte of a packed list.
  bool is_only_copied = false;
  const Type* type = nullptr;  // Of a message.
};

struct UnpackedSize::Type {
  std::size_t bytes = 0;      // Of an empty one.
  std::vector<Field> fields;  // By number.
  const Field& at(int number) const {
    static const Field unknown;
    return static_cast<std::size_t>(number) < fields.size() ? fields[number] : unknown;
  }
};

UnpackedSize::UnpackedSize(const google::protobuf::Descriptor& type)
    : descriptor_(type), root_(TypeOf(type)) {}
UnpackedSize::~UnpackedSize() = default;

const UnpackedSize::Type* UnpackedSize::TypeOf(const google::protobuf::Descriptor& descriptor) {
  std::unique_ptr<Type>& type = types_[&descriptor];
  if (type != nullptr) return type.get();
  type = std::make_unique<Type>();
  Type& made = *type;  // The map may grow below; the types stay where they are.
  if (descriptor.options().map_entry()) {
    made.bytes = kMapNode;
  } else {
    const google::protobuf::Message& empty =
        *google::protobuf::MessageFactory::generated_factory()->GetPrototype(&descriptor);
    made.bytes = empty.GetReflection()->SpaceUsedLong(empty);
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    Field known;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      known = {.kind = Field::Kind::kMessage, .element = kPointer, .type = TypeOf(*field.message_type())};
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      known = {.kind = Field::Kind::kText,
               .element = field.is_repeated() ? kPointer : 0,
               .is_only_copied = field.type() == FieldDescriptor::TYPE_BYTES};
    } else {
      known = {.kind = Field::Kind::kScalar, .element = field.is_repeated() ? 8u : 0u, .per_packed = 8};
    }
    const auto number = static_cast<std::size_t>(field.number());
    if (made.fields.size() <= number) made.fields.resize(number + 1);
    made.fields[number] = known;
  }
  return &made;
}

// One message. False: it ended early, for the reason in `error`.
class UnpackedSize::Walk {
 public:
  Walk(google::protobuf::io::CodedInputStream& in, const std::string& name, std::size_t most,
       std::size_t work_max)
      : in_(in), name_(name), most_(most), work_max_(work_max) {}

  // The fields up to the limit of the stream, or to the end of group `group`. `type` nullptr: of no known
  // type.
  bool Fields(const Type* type, int depth, int group = 0) {
    if (depth > kDepthMax)
      return Wrong(absl::StrCat("is nested more than ", kDepthMax, " deep; make it flatter"));
    for (;;) {
      const std::uint32_t tag = in_.ReadTag();
      if (tag == 0) return (group == 0 && in_.ConsumedEntireMessage()) || NotOne();
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_END_GROUP)
        return number == group || NotOne();
      static const Field unknown;
      if (!One(type == nullptr ? unknown : type->at(number), tag, depth)) return false;
    }
  }
  bool Add(std::size_t bytes) {
    sum_ += bytes;
    if (!Work(1)) return false;
    if (sum_ <= most_) return true;
    return Wrong(absl::StrCat("takes more than ", most_ >> 20,
                              " MiB of memory when it is unpacked, the most that is taken; it has too many "
                              "parts: split it, or give a range in place of values"));
  }
  std::size_t sum() const { return sum_; }
  // It ended because the message is more work than that.
  bool gave_up() const { return work_ > work_max_; }
  const absl::Status& error() const { return error_; }

 private:
  bool One(const Field& field, std::uint32_t tag, int depth) {
    std::uint64_t value = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        return (in_.ReadVarint64(&value) || NotOne()) && AddScalar(field);
      case WireFormatLite::WIRETYPE_FIXED64:
        return (in_.Skip(8) || NotOne()) && AddScalar(field);
      case WireFormatLite::WIRETYPE_FIXED32:
        return (in_.Skip(4) || NotOne()) && AddScalar(field);
      case WireFormatLite::WIRETYPE_START_GROUP:
        return Add(kUnknownField + 4 * kPointer) &&
               Fields(nullptr, depth + 1, WireFormatLite::GetTagFieldNumber(tag));
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return Delimited(field, depth);
      default:
        return NotOne();
    }
  }
  bool AddScalar(const Field& field) {
    // An unknown value of an enum is kept as an unknown field, so a scalar that is none costs one as well.
    return Add(field.kind == Field::Kind::kScalar ? field.element : kUnknownField);
  }
  bool Delimited(const Field& field, int depth) {
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) return NotOne();
    if (field.kind == Field::Kind::kMessage) {
      if (!Add(field.element + field.type->bytes)) return false;
      const auto limit = in_.PushLimit(length);
      if (in_.BytesUntilLimit() < length) return NotOne();
      if (!Fields(field.type, depth + 1)) return false;
      in_.PopLimit(limit);
      return true;
    }
    if (!in_.Skip(length)) return NotOne();
    const auto bytes = static_cast<std::size_t>(length);
    if (!field.is_only_copied && !Work(bytes / kTextPerWork)) return false;
    if (field.kind == Field::Kind::kText) return Add(field.element + TextBytes(bytes));
    if (field.kind == Field::Kind::kScalar) return Add(bytes * field.per_packed);
    return Add(kUnknownField + TextBytes(bytes));
  }
  bool Work(std::size_t work) { return (work_ += work) <= work_max_; }
  bool NotOne() { return Wrong("cannot be read: it is damaged, or of another program"); }
  bool Wrong(const std::string& what) {
    error_ = absl::InvalidArgumentError(absl::StrCat("the message (", name_, ") ", what));
    return false;
  }

  google::protobuf::io::CodedInputStream& in_;
  const std::string& name_;
  const std::size_t most_, work_max_;
  std::size_t sum_ = 0, work_ = 0;
  absl::Status error_;
};

absl::StatusOr<std::size_t> UnpackedSize::Of(google::protobuf::io::ZeroCopyInputStream& bytes,
                                             std::size_t most) const {
  google::protobuf::io::CodedInputStream in(&bytes);
  Walk walk(in, descriptor_.name(), most, kAnyWork);
  if (!walk.Add(root_->bytes) || !walk.Fields(root_, 0)) return walk.error();
  return walk.sum();
}

absl::StatusOr<std::optional<std::size_t>> UnpackedSize::OfUpTo(
    google::protobuf::io::ZeroCopyInputStream& bytes, std::size_t work) const {
  google::protobuf::io::CodedInputStream in(&bytes);
  Walk walk(in, descriptor_.name(), kUnpackedBytesMax, work);
  const bool is_whole = walk.Add(root_->bytes) && walk.Fields(root_, 0);
  if (walk.gave_up()) return std::optional<std::size_t>();
  if (!is_whole) return walk.error();
  return std::optional<std::size_t>(walk.sum());
}

}  // namespace inlier
