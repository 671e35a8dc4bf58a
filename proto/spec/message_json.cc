#include "proto/spec/message_json.h"

#include <map>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "google/protobuf/struct.pb.h"
#include "proto/spec/canonical.h"
#include "proto/spec/number_text.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::ListValue;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Struct;
using google::protobuf::Value;

void AppendMessage(const Message& message, std::string& json);
void AppendValue(const Value& value, std::string& json);

// The items one after the other with commas; `append(item)` writes one.
template <typename Items, typename Append>
void AppendAll(const Items& items, std::string_view brackets, std::string& json, Append append) {
  json += brackets[0];
  bool first = true;
  for (const auto& item : items) {
    if (!first) json += ',';
    first = false;
    append(item);
  }
  json += brackets[1];
}

template <typename T>
void AppendMap(const google::protobuf::Map<std::string, T>& map, std::string& json) {
  std::map<std::string_view, const T*> sorted;
  for (const auto& [key, value] : map) sorted.emplace(key, &value);
  AppendAll(sorted, "{}", json, [&json](const auto& entry) {
    json += JsonString(entry.first);
    json += ':';
    AppendValue(*entry.second, json);
  });
}

void AppendDouble(double value, std::string& json) {
  const std::string text = FormatNumber(value);
  const bool finite = text != "NaN" && text.find("Infinity") == std::string::npos;
  json += finite ? text : JsonString(text);
}

void AppendValue(const Value& value, std::string& json) {
  switch (value.kind_case()) {
    case Value::kNumberValue:
      return AppendDouble(value.number_value(), json);
    case Value::kStringValue:
      json += JsonString(value.string_value());
      return;
    case Value::kBoolValue:
      json += value.bool_value() ? "true" : "false";
      return;
    case Value::kStructValue:
      return AppendMap(value.struct_value().fields(), json);
    case Value::kListValue:
      return AppendAll(value.list_value().values(), "[]", json,
                       [&json](const Value& item) { AppendValue(item, json); });
    case Value::kNullValue:
    case Value::KIND_NOT_SET:
      json += "null";
      return;
  }
}

// `at`: which of a repeated field; -1 of a single one.
void AppendOne(const Message& message, const FieldDescriptor* field, int at, std::string& json) {
  const Reflection& reflection = *message.GetReflection();
  const auto get = [&](auto single, auto repeated) {
    return at < 0 ? (reflection.*single)(message, field) : (reflection.*repeated)(message, field, at);
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      json += get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true" : "false";
      return;
    case FieldDescriptor::CPPTYPE_INT32:
      json += std::to_string(get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      json += std::to_string(get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      json += JsonString(std::to_string(get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64)));
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      json += JsonString(std::to_string(get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64)));
      return;
    case FieldDescriptor::CPPTYPE_FLOAT:
      return AppendDouble(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat), json);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return AppendDouble(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble), json);
    case FieldDescriptor::CPPTYPE_ENUM:
      json += JsonString(get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum)->name());
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      INLIER_CHECK(field->type() == FieldDescriptor::TYPE_STRING);
      json += JsonString(get(&Reflection::GetString, &Reflection::GetRepeatedString));
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      AppendMessage(
          at < 0 ? reflection.GetMessage(message, field) : reflection.GetRepeatedMessage(message, field, at),
          json);
      return;
  }
}

void AppendMapField(const Message& message, const FieldDescriptor* field, std::string& json) {
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor* key = field->message_type()->map_key();
  const FieldDescriptor* value = field->message_type()->map_value();
  INLIER_CHECK(key->cpp_type() == FieldDescriptor::CPPTYPE_STRING);
  std::map<std::string, const Message*> sorted;
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, field, i);
    sorted.emplace(entry.GetReflection()->GetString(entry, key), &entry);
  }
  AppendAll(sorted, "{}", json, [&](const auto& entry) {
    json += JsonString(entry.first);
    json += ':';
    AppendOne(*entry.second, value, -1, json);
  });
}

void AppendField(const Message& message, const FieldDescriptor* field, std::string& json) {
  json += '"';
  json += field->name();
  json += "\":";
  if (field->is_map()) {
    AppendMapField(message, field, json);
  } else if (field->is_repeated()) {
    std::vector<int> indices(message.GetReflection()->FieldSize(message, field));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int>(i);
    AppendAll(indices, "[]", json, [&](int at) { AppendOne(message, field, at, json); });
  } else {
    AppendOne(message, field, -1, json);
  }
}

void AppendMessage(const Message& message, std::string& json) {
  const auto* type = message.GetDescriptor();
  if (type == Value::descriptor()) return AppendValue(static_cast<const Value&>(message), json);
  if (type == Struct::descriptor()) return AppendMap(static_cast<const Struct&>(message).fields(), json);
  if (type == ListValue::descriptor())
    return AppendAll(static_cast<const ListValue&>(message).values(), "[]", json,
                     [&json](const Value& item) { AppendValue(item, json); });
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);  // Those present, by number.
  AppendAll(fields, "{}", json, [&](const FieldDescriptor* field) { AppendField(message, field, json); });
}

}  // namespace

std::string MessageJson(const Message& message) {
  std::string json;
  json.reserve(1024);
  AppendMessage(message, json);
  return json;
}

}  // namespace inlier
