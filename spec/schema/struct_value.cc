#include "spec/schema/struct_value.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "spec/schema/duplicate_checker.h"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"
#include "spec/schema/param_range.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Struct;
using google::protobuf::Value;

constexpr int kDepthMax = 100;

Value LeafValue(const FieldDescriptor* field, const Message& parent) {
  Value value;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      value.set_bool_value(parent.GetReflection()->GetBool(parent, field));
      break;
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      value.set_number_value(NumberOf(field, parent));
      break;
    default:
      value.set_string_value(LeafText(field, parent));
  }
  return value;
}

class StructApplier {
 public:
  explicit StructApplier(Problems* problems) : problems_(problems) {}

  void Apply(const Struct& from, const std::string& prefix, Message* message, int depth) {
    // A map's order is not defined; sorted keys make the errors the same every time.
    std::vector<std::pair<std::string, const Value*>> entries;
    for (const auto& [key, value] : from.fields()) entries.emplace_back(key, &value);
    std::ranges::sort(entries);
    for (const auto& [key, value] : entries) ApplyEntry(key, *value, prefix, message, depth);
  }

 private:
  void ApplyEntry(const std::string& key, const Value& value, const std::string& prefix, Message* message,
                  int depth) {
    FieldPath path;
    const std::string unknown = FieldPath::TryParse(message->GetDescriptor(), key, &path);
    if (!unknown.empty() || path.field()->is_repeated())
      return problems_->Add(JoinPath(prefix, key),
                            unknown.empty() ? "is a list and cannot be set here" : unknown);
    Message* at = message;
    std::string at_prefix = prefix;
    for (const FieldDescriptor* field : path.fields()) {
      const std::string problem = duplicates_.Enter(at_prefix, field, "");
      at_prefix = JoinPath(at_prefix, field->name());
      if (!problem.empty()) return problems_->Add(at_prefix, problem);
      if (field == path.field()) break;
      at = at->GetReflection()->MutableMessage(at, field);
    }
    ApplyValue(path.field(), value, at_prefix, at, depth);
  }

  void ApplyValue(const FieldDescriptor* field, const Value& value, const std::string& path, Message* parent,
                  int depth) {
    if (value.kind_case() == Value::kNullValue) return parent->GetReflection()->ClearField(parent, field);
    if (IsGroup(field)) {
      if (value.kind_case() != Value::kStructValue) {
        problems_->Add(path,
                       "is a group of fields; give a mapping such as {} or {" + FirstName(field) + ": ...}");
      } else if (depth >= kDepthMax) {
        problems_->Add(path, "is nested too deep");
      } else {
        Apply(value.struct_value(), path, parent->GetReflection()->MutableMessage(parent, field), depth + 1);
      }
      return;
    }
    std::string problem = duplicates_.Claim(path, "");
    if (problem.empty()) problem = SetLeafValue(field, value, parent);
    if (!problem.empty()) problems_->Add(path, problem);
  }

  static std::string FirstName(const FieldDescriptor* field) {
    return field->message_type()->field_count() > 0 ? field->message_type()->field(0)->name() : "";
  }

  Problems* problems_;
  DuplicateChecker duplicates_;
};

}  // namespace

Struct MessageToStruct(const Message& message) {
  Struct result;
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    INLIER_CHECK(!field->is_repeated());
    Value& value = (*result.mutable_fields())[field->name()];
    if (IsGroup(field)) {
      *value.mutable_struct_value() = MessageToStruct(reflection.GetMessage(message, field));
    } else {
      value = LeafValue(field, message);
    }
  }
  return result;
}

void ApplyStruct(const Struct& from, const std::string& prefix, Message* message, Problems* problems) {
  StructApplier(problems).Apply(from, prefix, message, 0);
}

Value WrittenValue(const std::string& text) {
  Value value;
  if (const std::optional<double> number = ParseNumber(text); number && FormatNumber(*number) == text) {
    value.set_number_value(*number);
  } else if (text == "true" || text == "false") {
    value.set_bool_value(text == "true");
  } else {
    value.set_string_value(text);
  }
  return value;
}

std::string ValueText(const Value& value) {
  switch (value.kind_case()) {
    case Value::kNumberValue:
      return FormatNumber(value.number_value());
    case Value::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case Value::kStringValue:
      return value.string_value();
    case Value::kListValue: {
      std::string text = "[";
      for (const Value& item : value.list_value().values())
        text += (text.size() > 1 ? ", " : "") + ValueText(item);
      return text + "]";
    }
    case Value::kStructValue:
      return "{...}";
    default:
      return "null";
  }
}

}  // namespace inlier
