#include "spec/trial/canonical.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/digest.h"
#include "base/sorted_map.h"
#include "base/utf8.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "inlier/v1/param_options.pb.h"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"
#include "spec/trial/data_kind.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

enum class Form {
  kCanonical,  // Fields that decide the result, as short as can be.
  kResolved,   // Everything, defaults written out.
};

std::string LeafJson(const FieldDescriptor* field, const Message& parent) {
  std::string text = LeafText(field, parent);
  const auto type = field->cpp_type();
  if (type == FieldDescriptor::CPPTYPE_STRING || type == FieldDescriptor::CPPTYPE_ENUM)
    return JsonString(text);
  if (type == FieldDescriptor::CPPTYPE_DOUBLE &&
      !std::isfinite(parent.GetReflection()->GetDouble(parent, field)))
    return JsonString(text);
  return text;
}

// The enum value that fingerprints leave out in place of the default (ParamOptions.was), or null.
const google::protobuf::EnumValueDescriptor* FormerValue(const FieldDescriptor* field) {
  const v1::ParamOptions& param = field->options().GetExtension(v1::param);
  if (!param.has_was()) return nullptr;
  const auto* value = field->enum_type()->FindValueByName(param.was());
  INLIER_CHECK(value != nullptr);
  return value;
}

// True when the leaf has its declared default.
bool IsDefault(const FieldDescriptor* field, const Message& parent) {
  const Reflection& reflection = *parent.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(parent, field) == field->default_value_bool();
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(parent, field) == field->default_value_int32();
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(parent, field) == field->default_value_uint32();
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(parent, field) == field->default_value_double();
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.GetEnum(parent, field) == field->default_value_enum();
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(parent, field) == field->default_value_string();
    default:
      return false;
  }
}

// True when an empty group may be left out, because the resolver would make it again.
bool IsImplied(const FieldDescriptor* field) {
  if (const auto* choice = field->containing_oneof())
    return choice->options().GetExtension(v1::choice).default_member() == field->name();
  return !field->options().GetExtension(v1::param).may_be_absent();
}

// The parts of a descriptor that writing a field needs.
struct WrittenField {
  const FieldDescriptor* field;
  std::string key;  // With quotes and colon.
  bool is_group;
  bool is_implied;
  bool is_incidental;
  bool has_default;
  const google::protobuf::EnumValueDescriptor* former;  // FormerValue.
};

// By field number; kept for each thread, for descriptors are slow, and a sweep needs them once a trial. REQUIRES: `type` is
// compiled in.
const std::vector<WrittenField>& WrittenFieldsOf(const google::protobuf::Descriptor* type) {
  thread_local std::unordered_map<const google::protobuf::Descriptor*, std::vector<WrittenField>> plans;
  const auto [it, is_new] = plans.try_emplace(type);
  if (!is_new) return it->second;
  std::vector<WrittenField>& plan = it->second;
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const bool is_group = IsGroup(field);
    plan.push_back({field, JsonString(field->name()) + ":", is_group, is_group && IsImplied(field),
                    field->options().GetExtension(v1::param).incidental(), field->has_default_value(),
                    is_group ? nullptr : FormerValue(field)});
  }
  std::ranges::sort(plan, [](const WrittenField& a, const WrittenField& b) {
    return a.field->number() < b.field->number();
  });
  return plan;
}

// The values of a program's parameters, by name.
void AppendStruct(const google::protobuf::Struct& values, std::string* json) {
  *json += '{';
  for (const auto& [name, value] : Sorted(values.fields())) {
    if (json->back() != '{') *json += ',';
    *json += JsonString(name) + ":";
    if (value.kind_case() == google::protobuf::Value::kStringValue) {
      *json += JsonString(value.string_value());
    } else if (value.kind_case() == google::protobuf::Value::kBoolValue) {
      *json += value.bool_value() ? "true" : "false";
    } else {
      *json += FormatNumber(value.number_value());
    }
  }
  *json += '}';
}

void AppendJson(const Message& message, Form form, std::string* json);

// `"key":value`, or nothing.
void AppendField(const WrittenField& plan, const Message& message, Form form, std::string* json) {
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor* field = plan.field;
  const bool present = reflection.HasField(message, field);
  if (!present && (plan.is_group || form == Form::kCanonical || !plan.has_default)) return;
  if (form == Form::kCanonical && plan.is_incidental) return;
  if (form == Form::kCanonical && !plan.is_group) {
    if (plan.former != nullptr) {
      if (reflection.GetEnum(message, field) == plan.former) return;
    } else if (plan.has_default && IsDefault(field, message)) {
      return;
    }
  }
  const std::size_t before = json->size();
  *json += plan.key;
  if (!plan.is_group) {
    *json += LeafJson(field, message);
    return;
  }
  const std::size_t value = json->size();
  AppendJson(reflection.GetMessage(message, field), form, json);
  if (form == Form::kCanonical && plan.is_implied && json->size() == value + 2) json->resize(before);
}

// The object of the fields for which `includes(field)` is true.
template <typename Includes>
void AppendObject(const Message& message, Form form, Includes includes, std::string* json) {
  *json += '{';
  const std::size_t begin = json->size();
  for (const WrittenField& plan : WrittenFieldsOf(message.GetDescriptor())) {
    if (!includes(plan.field)) continue;
    const std::size_t before = json->size();
    if (before > begin) *json += ',';
    const std::size_t value = json->size();
    AppendField(plan, message, form, json);
    if (json->size() == value) json->resize(before);
  }
  *json += '}';
}

void AppendJson(const Message& message, Form form, std::string* json) {
  if (message.GetDescriptor() == google::protobuf::Struct::descriptor())
    return AppendStruct(static_cast<const google::protobuf::Struct&>(message), json);
  AppendObject(
      message, form, [](const FieldDescriptor*) { return true; }, json);
}

std::string Json(const Message& message, Form form) {
  std::string json;
  AppendJson(message, form, &json);
  return json;
}

// False for what a trial of a program has not.
bool Concerns(const v1::TrialSpec& spec, const FieldDescriptor* field) {
  return !spec.has_program() || spec.GetReflection()->HasField(spec, field);
}

// The part of a trial that a stage of this kind runs.
std::string PartJson(const v1::TrialSpec& spec, v1::StageKind kind, Form form) {
  std::string json;
  AppendObject(
      spec, form,
      [&](const FieldDescriptor* field) { return StageOfField(field) == kind && Concerns(spec, field); },
      &json);
  return json;
}

// The fields of the evaluation alone.
v1::TrialSpec EvaluationOf(const v1::TrialSpec& spec) {
  v1::TrialSpec evaluation;
  if (spec.has_quantization()) *evaluation.mutable_quantization() = spec.quantization();
  if (spec.has_evaluation()) *evaluation.mutable_evaluation() = spec.evaluation();
  if (spec.has_program_evaluation()) *evaluation.mutable_program_evaluation() = spec.program_evaluation();
  return evaluation;
}

}  // namespace

std::string CanonicalJson(const Message& message) { return Json(message, Form::kCanonical); }

v1::StageKind StageOfField(const FieldDescriptor* field) {
  const bool is_of_evaluation = field->number() == v1::TrialSpec::kQuantizationFieldNumber ||
                                field->number() == v1::TrialSpec::kEvaluationFieldNumber ||
                                field->number() == v1::TrialSpec::kProgramEvaluationFieldNumber;
  return is_of_evaluation ? v1::EVALUATE_STAGE : v1::TRAIN_STAGE;
}

PackedParts SplitPacked(const v1::TrialSpec& resolved) {
  PackedParts parts{.train = resolved.SerializeAsString(),
                    .evaluate = EvaluationOf(resolved).SerializeAsString()};
  // Fields are serialised in the order of their numbers, and those of the evaluation come last where no later one is set.
  if (parts.train.ends_with(parts.evaluate)) {
    parts.train.resize(parts.train.size() - parts.evaluate.size());
    return parts;
  }
  v1::TrialSpec train = resolved;
  train.clear_program_evaluation();
  train.clear_quantization();
  train.clear_evaluation();
  parts.train = train.SerializeAsString();
  return parts;
}

std::string ResolvedPartJson(const v1::TrialSpec& resolved, v1::StageKind kind) {
  return PartJson(resolved, kind, Form::kResolved);
}

std::string TrainFingerprint(const v1::TrialSpec& resolved) {
  return Sha256Hex("train\n" + PartJson(resolved, v1::TRAIN_STAGE, Form::kCanonical));
}

std::string EvaluateFingerprint(const v1::TrialSpec& resolved) {
  return EvaluateFingerprint(resolved, TrainFingerprint(resolved));
}

std::string EvaluateFingerprint(const v1::TrialSpec& resolved, const std::string& train_fingerprint) {
  v1::TrialSpec evaluation = EvaluationOf(resolved);
  if (resolved.evaluation().has_sequence_length() &&
      resolved.evaluation().sequence_length() == resolved.data().text().sequence_length()) {
    evaluation.mutable_evaluation()->clear_sequence_length();  // Its default.
  }
  return Sha256Hex("evaluate\n" + train_fingerprint + "\n" +
                   PartJson(evaluation, v1::EVALUATE_STAGE, Form::kCanonical));
}

std::string ResolvedJson(const v1::TrialSpec& resolved) {
  std::string json;
  AppendObject(
      resolved, Form::kResolved, [&](const FieldDescriptor* field) { return Concerns(resolved, field); },
      &json);
  return json;
}

absl::StatusOr<v1::TrialSpec> TrialSpecFromJson(std::string_view json) {
  v1::TrialSpec spec;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &spec);
  if (!status.ok())
    return absl::InvalidArgumentError("this is not the JSON of a trial: " + std::string(status.message()));
  // Stored specs have every value. One without a field with the option `was` is older than it and keeps that value.
  if (spec.has_data()) FillValidation(spec.mutable_data(), v1::LAST);
  if (spec.has_evaluation() && !spec.evaluation().has_measure())
    spec.mutable_evaluation()->set_measure(v1::EvaluationSpec::ALL);
  return spec;
}

std::string JsonString(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t valid = ValidUtf8Prefix(text);
    for (const char c : text.substr(0, valid)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        json += {'\\', c};
      } else if (byte < 0x20) {
        json += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
      } else {
        json.push_back(c);
      }
    }
    text.remove_prefix(valid);
    if (!text.empty()) {
      json += "\xef\xbf\xbd";
      text.remove_prefix(1);
    }
  }
  return json + "\"";
}

}  // namespace inlier
