#include "spec/schema/param_range.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "inlier/v1/param_options.pb.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

std::string Remedy(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "give true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "give a text";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "give one of its values";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "give its fields";
    default:
      break;
  }
  const std::string range = RangeText(field);
  return std::string(IsWhole(field) ? "give a whole number" : "give a number") +
         (range.empty() ? "" : " " + range);
}

// The problem with the value of a present field: a leaf, or one text of a list.
std::string ValueProblem(const FieldDescriptor* field, const Message& message) {
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    std::string scratch;
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string& text = field->is_repeated()
                                    ? reflection.GetRepeatedStringReference(message, field, i, &scratch)
                                    : reflection.GetStringReference(message, field, &scratch);
      if (!IsUtf8(text)) return "the text is not UTF-8: save it as UTF-8";
    }
  }
  return field->is_repeated() ? "" : RangeProblem(field, message);
}

// Parts of slow descriptors that checking a message needs, kept for each thread: a sweep needs it once a trial. Descriptors of
// programs (spec/program/trial_form.h) come and go, each with a name of its own.
struct CheckedField {
  const FieldDescriptor* field;
  bool is_repeated;
  bool is_group;
  bool is_required;
};
struct RangePlan {
  std::string type;
  std::vector<CheckedField> fields;
  std::vector<const OneofDescriptor*> required_choices;
};

// False for Value and its like, which declare nothing.
bool IsDeclared(const google::protobuf::Descriptor* type) {
  return type->file()->package() != "google.protobuf";
}

const RangePlan& RangePlanOf(const google::protobuf::Descriptor* type) {
  thread_local std::unordered_map<const google::protobuf::Descriptor*, RangePlan> plans;
  RangePlan& plan = plans[type];
  if (plan.type == type->full_name()) return plan;
  plan = {.type = type->full_name(), .fields = {}, .required_choices = {}};
  if (!IsDeclared(type)) return plan;
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_map()) continue;
    const bool is_group = IsGroup(field);
    const bool is_required = field->options().GetExtension(v1::param).required();
    // Any value is one: a sweep has lists of thousands.
    if (is_group && field->is_repeated() && !is_required && !IsDeclared(field->message_type())) continue;
    plan.fields.push_back({field, field->is_repeated(), is_group, is_required});
  }
  for (int i = 0; i < type->oneof_decl_count(); ++i) {
    const OneofDescriptor* choice = type->oneof_decl(i);
    if (choice->options().GetExtension(v1::choice).required()) plan.required_choices.push_back(choice);
  }
  return plan;
}

void CheckChoice(const OneofDescriptor* choice, const Message& message, const std::string& prefix,
                 Problems* problems) {
  if (message.GetReflection()->HasOneof(message, choice)) return;
  if (choice->field_count() == 1)
    return problems->Add(JoinPath(prefix, choice->field(0)->name()),
                         "is missing: " + Remedy(choice->field(0)));
  std::string names;
  for (int i = 0; i < choice->field_count(); ++i) {
    names += (i == 0 ? "" : i + 1 == choice->field_count() ? " or " : ", ") + choice->field(i)->name();
  }
  problems->Add(prefix, "nothing is chosen: give one of " + names);
}

}  // namespace

bool IsWhole(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
      return true;
    default:
      return false;
  }
}

bool IsNumber(const FieldDescriptor* field) {
  return IsWhole(field) || field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
         field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
}

double NumberOf(const FieldDescriptor* field, const Message& parent) {
  const google::protobuf::Reflection& reflection = *parent.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(parent, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(parent, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(reflection.GetInt64(parent, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(reflection.GetUInt64(parent, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.GetFloat(parent, field);
    default:
      return reflection.GetDouble(parent, field);
  }
}

std::string RangeText(const FieldDescriptor* field) {
  const v1::ParamOptions& param = field->options().GetExtension(v1::param);
  const std::string min = FormatNumber(param.min());
  const std::string max = FormatNumber(param.max());
  if (param.has_min() && param.has_max() && !param.exclusive_min() && !param.exclusive_max()) {
    return "from " + min + " to " + max;
  }
  std::string text;
  if (param.has_min()) text = (param.exclusive_min() ? "above " : "at least ") + min;
  if (param.has_min() && param.has_max()) text += " and ";
  if (param.has_max()) text += (param.exclusive_max() ? "below " : "at most ") + max;
  return text;
}

namespace {

std::string ChoiceProblem(const FieldDescriptor* field, const Message& parent) {
  const auto& choices = field->options().GetExtension(v1::param).choices();
  if (choices.empty()) return "";
  const std::string text = parent.GetReflection()->GetString(parent, field);
  if (std::ranges::find(choices, text) != choices.end()) return "";
  return Quoted(text) + " is not one of the choices" + DidYouMean(text, {choices.begin(), choices.end()});
}

}  // namespace

std::string RangeProblem(const FieldDescriptor* field, const Message& parent) {
  if (field->is_repeated()) return "";
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) return ChoiceProblem(field, parent);
  if (!IsNumber(field)) return "";
  const double value = NumberOf(field, parent);
  if (!std::isfinite(value)) return FormatNumber(value) + " is not finite: " + Remedy(field);
  const v1::ParamOptions& param = field->options().GetExtension(v1::param);
  const bool low = param.has_min() && (param.exclusive_min() ? value <= param.min() : value < param.min());
  const bool high = param.has_max() && (param.exclusive_max() ? value >= param.max() : value > param.max());
  if (!low && !high) return "";
  return FormatNumber(value) + " is out of range: " + Remedy(field);
}

void CheckDeclarations(const Message& message, const std::string& prefix, Problems* problems,
                       bool with_groups) {
  const google::protobuf::Descriptor* type = message.GetDescriptor();
  const RangePlan& plan = RangePlanOf(type);
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (const CheckedField& at : plan.fields) {
    const FieldDescriptor* field = at.field;
    const auto path = [&] { return JoinPath(prefix, field->name()); };
    const bool present =
        at.is_repeated ? reflection.FieldSize(message, field) > 0 : reflection.HasField(message, field);
    if (!present) {
      if (!at.is_required) continue;
      const bool preset = type->FindFieldByName("preset") != nullptr;
      problems->Add(path(), "is missing: " + Remedy(field) + (preset ? ", or choose a preset" : ""));
    } else if (!at.is_group) {
      if (std::string problem = ValueProblem(field, message); !problem.empty())
        problems->Add(path(), std::move(problem));
    } else if (!with_groups) {
      continue;
    } else if (at.is_repeated) {
      for (int j = 0; j < reflection.FieldSize(message, field); ++j) {
        CheckDeclarations(reflection.GetRepeatedMessage(message, field, j), ItemPath(path(), j), problems);
      }
    } else {
      CheckDeclarations(reflection.GetMessage(message, field), path(), problems);
    }
  }
  for (const OneofDescriptor* choice : plan.required_choices) CheckChoice(choice, message, prefix, problems);
}

}  // namespace inlier
