#include "proto/spec/canonical.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "google/protobuf/util/json_util.h"
#include "inlier/v1/param_options.pb.h"
#include "proto/spec/field_path.h"
#include "proto/spec/number_text.h"
#include "proto/spec/param_range.h"
#include "proto/spec/problems.h"

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

// The plan of each of kSpecGroups.
const std::vector<FieldPlan>& GroupPlans() {
  static const std::vector<FieldPlan> plans = [] {
    std::vector<FieldPlan> groups;
    for (const FieldPlan& plan : PlanOf(v1::TrialSpec::descriptor())) {
      if (!plan.is_group) continue;
      INLIER_CHECK(groups.size() < kSpecGroups.size() && plan.field->name() == kSpecGroups[groups.size()]);
      groups.push_back(plan);
    }
    INLIER_CHECK(groups.size() == kSpecGroups.size());
    return groups;
  }();
  return plans;
}

bool IsOfEvaluation(const FieldDescriptor* field) {
  return field->number() == v1::TrialSpec::kQuantizationFieldNumber ||
         field->number() == v1::TrialSpec::kEvaluationFieldNumber;
}

}  // namespace

std::string CanonicalJson(const Message& message) { return Json(message, Form::kCanonical); }

constexpr std::size_t kBytesBeside = 256;  // Nodes and strings of a group that is remembered.

const IdentityWriter::Group& IdentityWriter::GroupOf(std::size_t index, std::string_view bytes) {
  KnownGroups& known = known_[index];
  if (known.last != nullptr && known.last->first == bytes) return known.last->second;
  if (known.by_bytes.size() > kGroupsKept) Forget(known);
  const auto [at, is_new] = known.by_bytes.try_emplace(std::string(bytes));
  known.last = &*at;
  Group& group = at->second;
  if (!is_new) return group;
  const FieldPlan& plan = GroupPlans()[index];
  AppendField(plan, *spec_, Form::kCanonical, &group.canonical);
  const Message& message = spec_->GetReflection()->GetMessage(*spec_, plan.field);
  group.object = std::make_shared<const std::string>(Json(message, Form::kResolved));
  Problems problems;
  CheckDeclarations(message, "", &problems);
  group.declarations_hold = problems.empty();
  known.bytes += kBytesBeside + bytes.size() + group.canonical.size() + group.object->size();
  return group;
}

void IdentityWriter::Forget(KnownGroups& known) {
  known = {};
  train_groups_ = {};
}

std::size_t IdentityWriter::RememberedBytes() const {
  std::size_t bytes = 0;
  for (const KnownGroups& known : known_) bytes += known.bytes;
  return bytes;
}

void IdentityWriter::Trim(std::size_t bytes) {
  while (RememberedBytes() > bytes) {
    Forget(*std::max_element(known_.begin(), known_.end(),
                             [](const KnownGroups& a, const KnownGroups& b) { return a.bytes < b.bytes; }));
  }
}

void IdentityWriter::Read(const v1::TrialSpec& resolved, std::string_view packed) {
  spec_ = &resolved;
  packed_ = packed;
  groups_.fill(&absent_);
  Problems problems;
  CheckOwnDeclarations(resolved, "", &problems);
  declarations_hold_ = problems.empty();
  const PackedParts parts = SplitPacked(packed);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (parts.groups[i].empty()) continue;
    groups_[i] = &GroupOf(i, parts.groups[i]);
    declarations_hold_ = declarations_hold_ && groups_[i]->declarations_hold;
  }
}

const std::string& IdentityWriter::TrainFingerprintOfRead() {
  std::string leaves;
  std::array<const Group*, kSpecGroups.size()> groups{};
  for (const FieldPlan& plan : PlanOf(v1::TrialSpec::descriptor())) {
    if (IsOfEvaluation(plan.field)) continue;
    if (!plan.is_group) {
      AppendField(plan, *spec_, Form::kCanonical, &leaves);
      leaves += '\n';
    } else {
      const std::size_t index = SpecGroupOf(plan.field->number());
      groups[index] = groups_[index];
    }
  }
  if (groups == train_groups_ && leaves == train_leaves_) return train_sha256_;
  std::vector<std::string> texts;
  for (const FieldPlan& plan : PlanOf(v1::TrialSpec::descriptor())) {
    if (IsOfEvaluation(plan.field)) continue;
    if (plan.is_group) {
      texts.push_back(groups_[SpecGroupOf(plan.field->number())]->canonical);
    } else {
      AppendField(plan, *spec_, Form::kCanonical, &texts.emplace_back());
    }
  }
  train_groups_ = groups;
  train_leaves_ = std::move(leaves);
  return train_sha256_ = Sha256Hex("train\n" + Object(texts));
}

TrialIdentity IdentityWriter::Identity() {
  TrialIdentity identity;
  identity.train_fingerprint = TrainFingerprintOfRead();
  std::vector<std::string> leaves, evaluate;
  for (const FieldPlan& plan : PlanOf(v1::TrialSpec::descriptor())) {
    if (!plan.is_group) {
      AppendField(plan, *spec_, Form::kResolved, &leaves.emplace_back());
      continue;
    }
    const Group& group = *groups_[SpecGroupOf(plan.field->number())];
    identity.groups.push_back(group.object);
    if (!IsOfEvaluation(plan.field)) continue;
    if (plan.field->number() == v1::TrialSpec::kEvaluationFieldNumber &&
        spec_->evaluation().has_sequence_length() &&
        spec_->evaluation().sequence_length() == spec_->data().text().sequence_length()) {
      v1::TrialSpec same;
      *same.mutable_evaluation() = spec_->evaluation();
      same.mutable_evaluation()->clear_sequence_length();  // What its absence means.
      AppendField(plan, same, Form::kCanonical, &evaluate.emplace_back());
    } else {
      evaluate.push_back(group.canonical);
    }
  }
  identity.rest_json = Object(leaves);
  identity.rest_packed = PackedRest(packed_);
  identity.evaluate_fingerprint =
      Sha256Hex("evaluate\n" + identity.train_fingerprint + "\n" + Object(evaluate));
  return identity;
}

namespace {

TrialIdentity IdentityOf(const v1::TrialSpec& resolved) {
  const std::string packed = resolved.SerializeAsString();
  IdentityWriter writer;
  writer.Read(resolved, packed);
  return writer.Identity();
}

}  // namespace

std::string TrainFingerprint(const v1::TrialSpec& resolved) { return IdentityOf(resolved).train_fingerprint; }

std::string EvaluateFingerprint(const v1::TrialSpec& resolved) {
  return IdentityOf(resolved).evaluate_fingerprint;
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
