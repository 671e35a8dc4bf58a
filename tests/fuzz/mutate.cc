#include <algorithm>
#include <limits>

#include "tests/fuzz/fuzz.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::uint64_t TellingNumber(FuzzRandom& random) {
  static constexpr std::uint64_t kNumbers[] = {0,
                                               1,
                                               2,
                                               3,
                                               7,
                                               64,
                                               255,
                                               4096,
                                               65536,
                                               1u << 31,
                                               (std::uint64_t{1} << 32) - 1,
                                               std::uint64_t{1} << 32,
                                               (std::uint64_t{1} << 63) - 1,
                                               std::uint64_t{1} << 63,
                                               std::numeric_limits<std::uint64_t>::max()};
  return random() % 4 == 0 ? random() : kNumbers[random() % std::size(kNumbers)];
}

double TellingReal(FuzzRandom& random) {
  static constexpr double kReals[] = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0.5,
                                      1e-320,
                                      1e308,
                                      -1e308,
                                      9007199254740993.0,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN()};
  return kReals[random() % std::size(kReals)];
}

std::string TellingText(const std::string& before, FuzzRandom& random) {
  static const std::string kTexts[] = {"",
                                       "s-1",
                                       "t-1",
                                       "s-99999999999999999999",
                                       "t--1",
                                       std::string("a\0b", 3),
                                       "\xff\xfe",
                                       "\xed\xa0\x80",
                                       "../../etc/passwd",
                                       "/etc/passwd",
                                       "'; DROP TABLE sweep; --",
                                       "\"",
                                       "$.a",
                                       "{}",
                                       "[",
                                       "\n",
                                       "a.b.c",
                                       "seed",
                                       "training.steps",
                                       std::string(64, 'a'),
                                       std::string(300, 'x'),
                                       std::string(70000, 'y')};
  return random() % 3 == 0 ? MutateBytes(before, random) : kTexts[random() % std::size(kTexts)];
}

void SetScalar(Message& message, const FieldDescriptor* field, int index, FuzzRandom& random) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
#define INLIER_FUZZ_SET(Type, value)                                     \
  repeated ? reflection.SetRepeated##Type(&message, field, index, value) \
           : reflection.Set##Type(&message, field, value);               \
  break
    case FieldDescriptor::CPPTYPE_INT32:
      INLIER_FUZZ_SET(Int32, static_cast<std::int32_t>(TellingNumber(random)));
    case FieldDescriptor::CPPTYPE_INT64:
      INLIER_FUZZ_SET(Int64, static_cast<std::int64_t>(TellingNumber(random)));
    case FieldDescriptor::CPPTYPE_UINT32:
      INLIER_FUZZ_SET(UInt32, static_cast<std::uint32_t>(TellingNumber(random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      INLIER_FUZZ_SET(UInt64, TellingNumber(random));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      INLIER_FUZZ_SET(Double, TellingReal(random));
    case FieldDescriptor::CPPTYPE_FLOAT:
      INLIER_FUZZ_SET(Float, static_cast<float>(TellingReal(random)));
    case FieldDescriptor::CPPTYPE_BOOL:
      INLIER_FUZZ_SET(Bool, random() % 2 == 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      INLIER_FUZZ_SET(Enum, field->enum_type()->value(static_cast<int>(
                                random() % static_cast<std::uint64_t>(field->enum_type()->value_count()))));
    case FieldDescriptor::CPPTYPE_STRING:
      INLIER_FUZZ_SET(String, TellingText(repeated ? reflection.GetRepeatedString(message, field, index)
                                                   : reflection.GetString(message, field),
                                          random));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
#undef INLIER_FUZZ_SET
  }
}

void AddOne(Message& message, const FieldDescriptor* field, FuzzRandom& random) {
  const Reflection& reflection = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const int size = reflection.FieldSize(message, field);
      Message* added = reflection.AddMessage(&message, field);
      if (size > 0)
        added->CopyFrom(reflection.GetRepeatedMessage(
            message, field, static_cast<int>(random() % static_cast<std::uint64_t>(size))));
      return;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      reflection.AddString(&message, field, TellingText("", random));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      reflection.AddUInt32(&message, field, static_cast<std::uint32_t>(TellingNumber(random)));
      return;
    default:
      return;
  }
}

}  // namespace

std::string MutateBytes(std::string input, FuzzRandom& random) {
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes; ++i) {
    const std::size_t size = input.size();
    const std::size_t at = size == 0 ? 0 : random() % size;
    const std::size_t length = size == 0 ? 0 : std::min<std::size_t>(1 + random() % 32, size - at);
    switch (random() % 7) {
      case 0:
        if (size > 0) input[at] = static_cast<char>(input[at] ^ (1 << (random() % 8)));
        break;
      case 1:
        if (size > 0) input[at] = "\x00\xff\x7f\x80\n\"'{}[]:-\\,#&*!|>%@`"[random() % 24];
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(at, input.substr(at, length));
        break;
      case 4:
        input.insert(at, 1 + random() % 8, static_cast<char>(random()));
        break;
      case 5:
        if (size > 0) {
          const std::string piece = input.substr(at, length);
          input.insert(random() % size, piece);
        }
        break;
      default:
        for (std::size_t j = 0; j < std::min<std::size_t>(length, 8); ++j)
          input[at + j] = static_cast<char>(TellingNumber(random) >> (8 * j));
    }
  }
  return input;
}

void MutateMessage(Message& message, FuzzRandom& random) {
  const Reflection& reflection = *message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  if (descriptor->field_count() == 0) return;
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  const FieldDescriptor* field = !present.empty() && random() % 4 != 0
                                     ? present[random() % present.size()]
                                     : descriptor->field(static_cast<int>(
                                           random() % static_cast<std::uint64_t>(descriptor->field_count())));
  if (field->is_repeated()) {
    const int size = reflection.FieldSize(message, field);
    const std::uint64_t choice = random() % 5;
    if (size == 0 || choice == 0) return AddOne(message, field, random);
    if (choice == 1) return reflection.RemoveLast(&message, field);
    const int index = static_cast<int>(random() % static_cast<std::uint64_t>(size));
    if (choice == 2) return reflection.SwapElements(&message, field, 0, index);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      return MutateMessage(*reflection.MutableRepeatedMessage(&message, field, index), random);
    return SetScalar(message, field, index, random);
  }
  if (random() % 10 == 0) return reflection.ClearField(&message, field);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
    return MutateMessage(*reflection.MutableMessage(&message, field), random);
  SetScalar(message, field, -1, random);
}

}  // namespace inlier
