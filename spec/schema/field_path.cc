#include "spec/schema/field_path.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/utf8.h"
#include "inlier/v1/param_options.pb.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/number_text.h"
#include "spec/schema/param_range.h"
#include "spec/schema/problems.h"
#include "spec/schema/struct_value.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Value;

constexpr double kExactMax = 9007199254740992.0;  // 2^53: whole numbers up to here are exact doubles.

// Sets a whole number; "" or the problem.
std::string SetWhole(const FieldDescriptor* field, double value, std::string_view text, Message* parent) {
  if (value != std::trunc(value))
    return std::string(text) + " is not a whole number; write one such as " + FormatNumber(std::round(value));
  const Reflection& reflection = *parent->GetReflection();
  double low = 0, high = 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      low = std::numeric_limits<std::int32_t>::min();
      high = std::numeric_limits<std::int32_t>::max();
      if (value >= low && value <= high) reflection.SetInt32(parent, field, static_cast<std::int32_t>(value));
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      high = std::numeric_limits<std::uint32_t>::max();
      if (value >= low && value <= high)
        reflection.SetUInt32(parent, field, static_cast<std::uint32_t>(value));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      low = -kExactMax;
      high = kExactMax;
      if (value >= low && value <= high) reflection.SetInt64(parent, field, static_cast<std::int64_t>(value));
      break;
    default:
      high = kExactMax;
      if (value >= low && value <= high)
        reflection.SetUInt64(parent, field, static_cast<std::uint64_t>(value));
      break;
  }
  if (value >= low && value <= high) return "";
  std::string range = RangeText(field);
  if (range.empty()) range = "from " + FormatNumber(low) + " to " + FormatNumber(high);
  return std::string(text) + " is out of range: give a whole number " + range;
}

// Suggestions for a path of which `done` words are known and the next one is not.
std::string Suggestion(const Descriptor* root, const Descriptor* at, const std::string& done,
                       std::string_view word, std::string_view whole) {
  const std::vector<std::string> siblings = FieldNames(at);
  const std::string near = Nearest(word, siblings);
  if (!near.empty()) return "; did you mean \"" + JoinPath(done, near) + "\"?";
  const std::vector<std::string> paths = AllLeafPaths(root);
  const std::string ending = "." + std::string(whole);
  std::vector<std::string> matching;
  for (const std::string& path : paths) {
    if (path.ends_with(ending)) matching.push_back(path);
  }
  if (matching.size() == 1) return "; did you mean \"" + matching[0] + "\"?";
  if (matching.size() > 1) {
    std::ranges::stable_sort(matching, {},
                             [](const std::string& path) { return std::ranges::count(path, '.'); });
    matching.resize(std::min<std::size_t>(matching.size(), 3));
    return "; did you mean one of \"" + absl::StrJoin(matching, "\", \"") + "\"?";
  }
  const std::string nearest_path = Nearest(whole, paths);
  if (!nearest_path.empty()) return "; did you mean \"" + nearest_path + "\"?";
  return DidYouMean(word, siblings);
}

// Why `at` has no field `word`; `done` words of the path `whole` are known.
std::string Unknown(const Descriptor* root, const Descriptor* at, const std::string& done,
                    const std::string& word, std::string_view whole) {
  const auto& retired = at->options().GetRepeatedExtension(v1::retired);
  const auto found =
      std::ranges::find_if(retired, [&](const v1::RetiredField& field) { return field.name() == word; });
  if (found != retired.end()) return "no longer exists: " + found->instead();
  return "unknown field" + Suggestion(root, at, done, word, whole);
}

}  // namespace

std::string FieldPath::TryParse(const Descriptor* root, std::string_view text, FieldPath* path) {
  *path = FieldPath();
  path->text_ = std::string(text);
  const Descriptor* at = root;
  std::string done;
  std::size_t begin = 0;
  while (true) {
    const std::size_t dot = text.find('.', begin);
    const std::string word(text.substr(begin, dot == std::string_view::npos ? dot : dot - begin));
    if (word.empty())
      return "is not a path; write names with single dots between them, such as training.steps";
    if (at == nullptr) return "unknown field; " + done + " is a value and has no fields below it";
    const FieldDescriptor* field = at->FindFieldByName(word);
    if (field == nullptr || IsMade(field)) return Unknown(root, at, done, word, text);
    done = JoinPath(done, word);
    if (field->is_repeated() && dot != std::string_view::npos) return "unknown field; " + done + " is a list";
    path->fields_.push_back(field);
    at = IsGroup(field) ? field->message_type() : nullptr;
    if (dot == std::string_view::npos) return "";
    begin = dot + 1;
  }
}

absl::StatusOr<FieldPath> FieldPath::Parse(const Descriptor* root, std::string_view text) {
  FieldPath path;
  std::string problem = TryParse(root, text, &path);
  if (problem.empty() && path.field()->is_repeated())
    problem = "is a list and cannot be named by a path; write it in the file";
  if (!problem.empty()) return absl::InvalidArgumentError(std::string(text) + ": " + problem);
  return path;
}

FieldPath FieldPath::Known(const Descriptor* root, std::string_view text) {
  FieldPath path;
  INLIER_CHECK(TryParse(root, text, &path).empty());
  return path;
}

Message* FieldPath::MutableParent(Message* root) const {
  for (std::size_t i = 0; i + 1 < fields_.size(); ++i)
    root = root->GetReflection()->MutableMessage(root, fields_[i]);
  return root;
}

const Message& FieldPath::Parent(const Message& root) const {
  const Message* at = &root;
  for (std::size_t i = 0; i + 1 < fields_.size(); ++i) at = &at->GetReflection()->GetMessage(*at, fields_[i]);
  return *at;
}

namespace {

absl::Status AtPath(const std::string& path, const std::string& problem) {
  return problem.empty() ? absl::OkStatus() : absl::InvalidArgumentError(path + ": " + problem);
}

}  // namespace

absl::Status FieldPath::SetText(std::string_view value, Message* root) const {
  Message* parent = MutableParent(root);
  if (is_leaf()) return AtPath(text_, SetLeafText(field(), value, parent));
  if (value != "{}")
    return AtPath(text_,
                  "is a group of fields; name one of them, or write " + text_ + "={} to choose it as it is");
  parent->GetReflection()->MutableMessage(parent, field());
  return absl::OkStatus();
}

absl::Status FieldPath::SetValue(const Value& value, Message* root) const {
  Message* parent = MutableParent(root);
  if (is_leaf()) return AtPath(text_, SetLeafValue(field(), value, parent));
  if (value.kind_case() != Value::kStructValue) return AtPath(text_, "is a group of fields; give a mapping");
  Problems problems;
  ApplyStruct(value.struct_value(), text_, parent->GetReflection()->MutableMessage(parent, field()),
              &problems);
  return problems.ToStatus();
}

bool FieldPath::Has(const Message& root) const {
  const Message& parent = Parent(root);
  return parent.GetReflection()->HasField(parent, field());
}

void FieldPath::Clear(Message* root) const {
  if (!Has(*root)) return;
  Message* parent = MutableParent(root);
  parent->GetReflection()->ClearField(parent, field());
}

std::string FieldPath::GetText(const Message& root) const {
  INLIER_CHECK(is_leaf());
  return LeafText(field(), Parent(root));
}

std::vector<std::string> AllLeafPaths(const Descriptor* root) {
  std::vector<std::string> paths;
  for (int i = 0; i < root->field_count(); ++i) {
    const FieldDescriptor* field = root->field(i);
    if (field->is_repeated() || IsMade(field)) continue;
    if (!IsGroup(field)) {
      paths.push_back(field->name());
      continue;
    }
    // Another path has the same fields.
    if (field->options().GetExtension(v1::param).no_columns()) continue;
    if (field->message_type()->file()->package() != "google.protobuf") {
      for (const std::string& below : AllLeafPaths(field->message_type()))
        paths.push_back(field->name() + "." + below);
    }
  }
  return paths;
}

std::vector<std::string> EnumNames(const EnumDescriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->value_count(); ++i) names.push_back(type->value(i)->name());
  return names;
}

std::vector<std::string> FieldNames(const Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) {
    if (!IsMade(type->field(i))) names.push_back(type->field(i)->name());
  }
  return names;
}

std::string SetLeafText(const FieldDescriptor* field, std::string_view text, Message* parent) {
  const Reflection& reflection = *parent->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false")
        return Quoted(text) + " is neither true nor false; write one of these words";
      reflection.SetBool(parent, field, text == "true");
      return "";
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* value = field->enum_type()->FindValueByName(std::string(text));
      if (value == nullptr)
        return Quoted(text) + " is not one of its values" + DidYouMean(text, EnumNames(field->enum_type()));
      reflection.SetEnum(parent, field, value);
      return "";
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (!IsUtf8(text)) return "the text is not UTF-8; save it as UTF-8";
      reflection.SetString(parent, field, std::string(text));
      return "";
    default:
      break;
  }
  INLIER_CHECK(!IsGroup(field));
  const std::optional<double> number = ParseNumber(text);
  if (!number) return Quoted(text) + " is not a number; " + WhyNotANumber(text);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    reflection.SetDouble(parent, field, *number == 0 ? 0.0 : *number);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
    reflection.SetFloat(parent, field, static_cast<float>(*number));
  } else {
    return SetWhole(field, *number, text, parent);
  }
  return "";
}

std::string SetLeafValue(const FieldDescriptor* field, const Value& value, Message* parent) {
  const auto type = field->cpp_type();
  switch (value.kind_case()) {
    case Value::kNumberValue:
      if (type == FieldDescriptor::CPPTYPE_STRING)
        return FormatNumber(value.number_value()) + " is a number; put it in quotes to give a text";
      return SetLeafText(field, FormatNumber(value.number_value()), parent);
    case Value::kBoolValue:
      if (type == FieldDescriptor::CPPTYPE_STRING)
        return "true and false are not texts; put the word in quotes";
      return SetLeafText(field, value.bool_value() ? "true" : "false", parent);
    case Value::kStringValue:
      if (type != FieldDescriptor::CPPTYPE_STRING && type != FieldDescriptor::CPPTYPE_ENUM) {
        const bool right = type == FieldDescriptor::CPPTYPE_BOOL
                               ? value.string_value() == "true" || value.string_value() == "false"
                               : ParseNumber(value.string_value()).has_value();
        if (right) return Quoted(value.string_value()) + " is a text; write it without quotes";
      }
      return SetLeafText(field, value.string_value(), parent);
    case Value::kStructValue:
      return "is a mapping where one value is meant; give the value alone";
    case Value::kListValue:
      return "is a list where one value is meant; give the value alone";
    default:
      return "has no value; leave it out, or give one";
  }
}

std::string ChosenMember(const Message& message, const std::string& choice) {
  const google::protobuf::OneofDescriptor* oneof = message.GetDescriptor()->FindOneofByName(choice);
  const FieldDescriptor* member = message.GetReflection()->GetOneofFieldDescriptor(message, oneof);
  return member == nullptr ? oneof->options().GetExtension(v1::choice).default_member() : member->name();
}

std::string LeafText(const FieldDescriptor* field, const Message& parent) {
  const Reflection& reflection = *parent.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(parent, field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.GetEnum(parent, field)->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(parent, field);
    default:
      // A double cannot hold every integer of 64 bits.
      INLIER_CHECK(!IsGroup(field) && field->cpp_type() != FieldDescriptor::CPPTYPE_INT64);
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64)
        return absl::StrCat(reflection.GetUInt64(parent, field));
      return FormatNumber(NumberOf(field, parent));
  }
}

}  // namespace inlier
