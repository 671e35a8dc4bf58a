#include "proto/spec/canonical.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "google/protobuf/util/json_util.h"
#include "inlier/v1/param_options.pb.h"
#include "proto/spec/field_path.h"
#include "proto/spec/number_text.h"
#include "proto/spec/utf8.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

enum class Form {
  kCanonical,  // What decides the result, as short as can be.
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

// Whether the leaf has its declared default. NaN equals nothing.
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

// Whether a group that says nothing more may be left out, because the resolver would make it again.
bool IsImplied(const FieldDescriptor* field) {
  if (const auto* choice = field->containing_oneof()) {
    return choice->options().GetExtension(v1::choice).default_member() == field->name();
  }
  return !field->options().GetExtension(v1::param).may_be_absent();
}

// What writing a field needs of its descriptor.
struct FieldPlan {
  const FieldDescriptor* field;
  std::string key;  // With quotes and colon.
  bool is_group;
  bool is_implied;
  bool is_incidental;
  bool has_default;
};

// The fields of a message in the order of their numbers. Descriptors are slow to ask, and a sweep asks once a
// trial: kept for each thread.
const std::vector<FieldPlan>& PlanOf(const google::protobuf::Descriptor* type) {
  thread_local std::unordered_map<const google::protobuf::Descriptor*, std::vector<FieldPlan>> plans;
  const auto [it, is_new] = plans.try_emplace(type);
  if (!is_new) return it->second;
  std::vector<FieldPlan>& plan = it->second;
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const bool is_group = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    plan.push_back({field, JsonString(field->name()) + ":", is_group, is_group && IsImplied(field),
                    field->options().GetExtension(v1::param).incidental(), field->has_default_value()});
  }
  std::sort(plan.begin(), plan.end(),
            [](const FieldPlan& a, const FieldPlan& b) { return a.field->number() < b.field->number(); });
  return plan;
}

void AppendJson(const Message& message, Form form, std::string* json);

// `"key":value`, or nothing.
void AppendField(const FieldPlan& plan, const Message& message, Form form, std::string* json) {
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor* field = plan.field;
  const bool present = reflection.HasField(message, field);
  if (!present && (plan.is_group || form == Form::kCanonical || !plan.has_default)) return;
  if (form == Form::kCanonical && !plan.is_group) {
    if (plan.is_incidental || (plan.has_default && IsDefault(field, message))) return;
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

void AppendJson(const Message& message, Form form, std::string* json) {
  *json += '{';
  const std::size_t begin = json->size();
  for (const FieldPlan& plan : PlanOf(message.GetDescriptor())) {
    const std::size_t before = json->size();
    if (before > begin) *json += ',';
    const std::size_t value = json->size();
    AppendField(plan, message, form, json);
    if (json->size() == value) json->resize(before);
  }
  *json += '}';
}

std::string Json(const Message& message, Form form) {
  std::string json;
  AppendJson(message, form, &json);
  return json;
}

// "{" + the texts that are not empty + "}".
template <typename Texts>
std::string Object(const Texts& texts) {
  std::string json = "{";
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    if (json.size() > 1) json += ',';
    json += text;
  }
  return json + "}";
}

bool IsOfEvaluation(const FieldDescriptor* field) {
  return field->number() == v1::TrialSpec::kQuantizationFieldNumber ||
         field->number() == v1::TrialSpec::kEvaluationFieldNumber;
}

}  // namespace

std::string CanonicalJson(const Message& message) { return Json(message, Form::kCanonical); }

TrialIdentity IdentityWriter::Of(const v1::TrialSpec& resolved) {
  const std::vector<FieldPlan>& plans = PlanOf(v1::TrialSpec::descriptor());
  known_.resize(plans.size());
  std::vector<std::string> all(plans.size()), train, evaluate;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const FieldPlan& plan = plans[i];
    FieldTexts written;
    const FieldTexts& texts = plan.is_group ? Group(i, resolved) : written;
    if (!plan.is_group) {
      AppendField(plan, resolved, Form::kCanonical, &written.canonical);
      AppendField(plan, resolved, Form::kResolved, &written.resolved);
    }
    all[i] = texts.resolved;
    if (!IsOfEvaluation(plan.field)) {
      train.push_back(texts.canonical);
    } else if (plan.field->number() == v1::TrialSpec::kEvaluationFieldNumber &&
               resolved.evaluation().has_sequence_length() &&
               resolved.evaluation().sequence_length() == resolved.data().text().sequence_length()) {
      v1::TrialSpec same;
      *same.mutable_evaluation() = resolved.evaluation();
      same.mutable_evaluation()->clear_sequence_length();  // What its absence means.
      AppendField(plan, same, Form::kCanonical, &evaluate.emplace_back());
    } else {
      evaluate.push_back(texts.canonical);
    }
  }
  if (std::string text = Object(train); text != train_ || train_sha256_.empty()) {
    train_sha256_ = Sha256Hex("train\n" + text);
    train_ = std::move(text);
  }
  return {Object(all), train_sha256_, Sha256Hex("evaluate\n" + train_sha256_ + "\n" + Object(evaluate))};
}

const IdentityWriter::FieldTexts& IdentityWriter::Group(std::size_t index, const v1::TrialSpec& spec) {
  const FieldPlan& plan = PlanOf(v1::TrialSpec::descriptor())[index];
  const Reflection& reflection = *spec.GetReflection();
  bytes_.clear();
  if (reflection.HasField(spec, plan.field)) {
    bytes_ += '+';
    reflection.GetMessage(spec, plan.field).AppendToString(&bytes_);
  }
  auto& known = known_[index];
  if (known.size() > kGroupsKept) known.clear();
  const auto [at, is_new] = known.try_emplace(bytes_);
  if (is_new) {
    AppendField(plan, spec, Form::kCanonical, &at->second.canonical);
    AppendField(plan, spec, Form::kResolved, &at->second.resolved);
  }
  return at->second;
}

std::string TrainFingerprint(const v1::TrialSpec& resolved) {
  return IdentityWriter().Of(resolved).train_fingerprint;
}

std::string EvaluateFingerprint(const v1::TrialSpec& resolved) {
  return IdentityWriter().Of(resolved).evaluate_fingerprint;
}

std::string ResolvedJson(const v1::TrialSpec& resolved) { return Json(resolved, Form::kResolved); }

absl::StatusOr<v1::TrialSpec> TrialSpecFromJson(std::string_view json) {
  v1::TrialSpec spec;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &spec);
  if (!status.ok()) {
    return absl::InvalidArgumentError("this is not the JSON of a trial: " + std::string(status.message()));
  }
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
