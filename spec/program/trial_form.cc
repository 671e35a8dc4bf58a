#include "spec/program/trial_form.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/sorted_map.h"
#include "base/status.h"
#include "google/protobuf/descriptor.pb.h"
#include "inlier/v1/param_options.pb.h"
#include "spec/program/program_columns.h"
#include "spec/program/program_description.h"
#include "spec/schema/field_path.h"
#include "spec/schema/param_range.h"
#include "spec/schema/struct_value.h"
#include "spec/trial/checks/data_checks.h"
#include "spec/trial/checks/quantization_checks.h"
#include "spec/trial/file_fields.h"
#include "spec/trial/resolver.h"

namespace inlier {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptor;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::Message;
using google::protobuf::Struct;
using google::protobuf::Value;

constexpr char kSeed[] = "seed";

FieldDescriptorProto& AddField(const std::string& name, FieldDescriptorProto::Type type,
                               DescriptorProto& message) {
  FieldDescriptorProto& field = *message.add_field();
  field.set_name(name);
  field.set_number(message.field_size());
  field.set_label(FieldDescriptorProto::LABEL_OPTIONAL);
  field.set_type(type);
  return field;
}

FieldDescriptorProto::Type TypeOf(v1::ProgramParameter::Type type) {
  switch (type) {
    case v1::ProgramParameter::NUMBER:
      return FieldDescriptorProto::TYPE_DOUBLE;
    case v1::ProgramParameter::INTEGER:
      return FieldDescriptorProto::TYPE_INT32;
    case v1::ProgramParameter::TEXT:
      return FieldDescriptorProto::TYPE_STRING;
    case v1::ProgramParameter::TRUE_OR_FALSE:
      return FieldDescriptorProto::TYPE_BOOL;
  }
  return FieldDescriptorProto::TYPE_STRING;
}

void AddParameter(const std::string& name, const v1::ProgramParameter& parameter, DescriptorProto& message) {
  FieldDescriptorProto& field = AddField(name, TypeOf(parameter.type()), message);
  if (parameter.has_default_()) field.set_default_value(ValueText(parameter.default_()));
  v1::ParamOptions& options = *field.mutable_options()->MutableExtension(v1::param);
  if (parameter.has_min()) options.set_min(parameter.min());
  if (parameter.has_max()) options.set_max(parameter.max());
  options.set_exclusive_min(parameter.exclusive_min());
  options.set_exclusive_max(parameter.exclusive_max());
  options.set_symbol(parameter.symbol());
  options.set_column(ColumnOf(name, parameter));
  options.set_incidental(parameter.incidental());
  options.set_required(parameter.required());
  *options.mutable_choices() = parameter.choices();
}

// The message of the group `name`, made where it is not there.
DescriptorProto& GroupNamed(const std::string& name, DescriptorProto& message) {
  const std::string type = absl::StrCat("Of_", name);
  for (DescriptorProto& nested : *message.mutable_nested_type()) {
    if (nested.name() == type) return nested;
  }
  AddField(name, FieldDescriptorProto::TYPE_MESSAGE, message).set_type_name(type);
  DescriptorProto& group = *message.add_nested_type();
  group.set_name(type);
  return group;
}

google::protobuf::FileDescriptorProto FileOf(const v1::ProgramDescription& description) {
  // Plans that are kept for a descriptor know it by this name (param_range.cc, canonical.cc), so no two forms share one.
  static std::atomic<std::uint64_t> forms = 0;
  const std::string package = absl::StrCat("inlier.program.form", ++forms);
  google::protobuf::FileDescriptorProto file;
  file.set_name(package + ".proto");
  file.set_package(package);
  std::set<std::string> imports = {v1::ParamOptions::descriptor()->file()->name()};
  DescriptorProto& trial = *file.add_message_type();
  trial.set_name("Trial");
  const auto add = [&](const char* name) {
    const FieldDescriptor* ours = v1::TrialSpec::descriptor()->FindFieldByName(name);
    FieldDescriptorProto& field = *trial.add_field();
    ours->CopyTo(&field);
    field.set_number(trial.field_size());
    if (IsGroup(ours)) imports.insert(ours->message_type()->file()->name());
  };
  add(kSeed);
  if (InlierEvaluates(description)) std::ranges::for_each(kSettings, add);
  for (const std::string& import : imports) file.add_dependency(import);
  for (const auto& [name, parameter] : Sorted(description.parameters())) {
    std::vector<std::string> words = absl::StrSplit(name, '.');
    DescriptorProto* at = &trial;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) at = &GroupNamed(words[i], *at);
    AddParameter(words.back(), parameter, *at);
  }
  return file;
}

// The part of `trial` that has the parameter.
Struct* PlaceOf(const v1::ProgramParameter& parameter, v1::TrialSpec* trial) {
  if (parameter.read_by() == v1::ProgramParameter::EVALUATION) {
    v1::ProgramEvaluation& part = *trial->mutable_program_evaluation();
    return parameter.incidental() ? part.mutable_incidental() : part.mutable_parameters();
  }
  v1::ProgramTrial& part = *trial->mutable_program();
  return parameter.incidental() ? part.mutable_incidental() : part.mutable_parameters();
}

// Calls write(name, value) with the leaves of nested objects.
template <typename Write>
void VisitLeaves(const Struct& from, const std::string& prefix, const Write& write) {
  for (const auto& [key, value] : from.fields()) {
    const std::string name = JoinPath(prefix, key);
    if (value.kind_case() == Value::kStructValue) {
      VisitLeaves(value.struct_value(), name, write);
    } else {
      write(name, value);
    }
  }
}

// Merges those of kSettings that `from` has set, where `to` has the field.
void CopySettings(const Message& from, Message* to) {
  for (const char* name : kSettings) {
    const FieldDescriptor* source = from.GetDescriptor()->FindFieldByName(name);
    const FieldDescriptor* target = to->GetDescriptor()->FindFieldByName(name);
    const bool alike = source != nullptr && target != nullptr && IsGroup(source) && IsGroup(target) &&
                       source->message_type() == target->message_type();  // Or a parameter has the name.
    if (!alike || !from.GetReflection()->HasField(from, source)) continue;
    to->GetReflection()
        ->MutableMessage(to, target)
        ->MergeFrom(from.GetReflection()->GetMessage(from, source));
  }
}

// Fills what is decided by itself. The rest, and a vocabulary that is not given, are those of the model that is evaluated.
absl::Status ResolveSettings(v1::TrialSpec* trial) {
  v1::TrialSpec settings;
  CopySettings(*trial, &settings);
  const bool own_vocabulary = !settings.data().text().has_tokenizer();
  RETURN_IF_ERROR(ResolveInPlace(&settings));
  if (settings.data().has_text() && own_vocabulary)
    settings.mutable_data()->mutable_text()->clear_tokenizer();
  *trial->mutable_data() = settings.data();
  if (settings.has_quantization()) *trial->mutable_quantization() = settings.quantization();
  *trial->mutable_evaluation() = settings.evaluation();
  return absl::OkStatus();
}

// What is known before there is a model.
void CheckSettings(const v1::TrialSpec& resolved, Problems* problems) {
  VisitFileFields(resolved, [&](const std::string& path, v1::FileUse use, const std::string& value) {
    if (use == v1::FILE_PATH) CheckAbsolutePath(path, value, problems);
  });
  CheckQuantization(resolved, problems);
}

// Sets each leaf of the form itself that has none to its default.
void WriteDefaults(Message* message) {
  const google::protobuf::Descriptor* type = message->GetDescriptor();
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (IsGroup(field) && field->message_type()->file() != type->file()) continue;
    if (IsGroup(field)) {
      WriteDefaults(reflection.MutableMessage(message, field));
    } else if (field->has_default_value() && !reflection.HasField(*message, field)) {
      INLIER_CHECK(SetLeafText(field, LeafText(field, *message), message).empty());
    }
  }
}

}  // namespace

const std::shared_ptr<const TrialForm>& TrialForm::OfModels() {
  static const std::shared_ptr<const TrialForm> models = [] {
    const std::shared_ptr<TrialForm> form(new TrialForm());
    form->prototype_ = &v1::TrialSpec::default_instance();
    form->measurements_ = MeasurementList::OfModels();
    return form;
  }();
  return models;
}

absl::StatusOr<std::shared_ptr<const TrialForm>> TrialForm::OfProgram(const v1::ProgramUse& use) {
  RETURN_IF_ERROR(FindProgramProblems(use.description()).ToStatus());
  if (use.name() != use.description().name() || !IsSha256Hex(use.digest()))
    return absl::InvalidArgumentError(
        "has not the name of its description, or no digest of its files: let `inlier` read the sweep's file");
  const std::shared_ptr<TrialForm> form(new TrialForm());
  form->use_ = use;
  form->use_.clear_source();
  form->measurements_ = MeasurementList::OfProgram(use.description());
  form->pool_ =
      std::make_unique<google::protobuf::DescriptorPool>(google::protobuf::DescriptorPool::generated_pool());
  const google::protobuf::FileDescriptor* file = form->pool_->BuildFile(FileOf(use.description()));
  if (file == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("the names of the parameters of ", use.name(),
                                                   " cannot stand beside each other; give them other ones"));
  form->factory_ = std::make_unique<google::protobuf::DynamicMessageFactory>(form->pool_.get());
  form->factory_->SetDelegateToGeneratedFactory(true);
  form->prototype_ = form->factory_->GetPrototype(file->message_type(0));
  return form;
}

absl::StatusOr<std::shared_ptr<const TrialForm>> TrialForm::Of(const v1::SweepSpec& sweep) {
  return sweep.has_program() ? OfProgram(sweep.program()) : OfModels();
}

std::vector<SpecColumn> TrialForm::columns() const {
  return is_program() ? ColumnsOf(use_.description()) : SpecColumns();
}

std::vector<ParamInfo> TrialForm::params() const {
  if (!is_program()) return TrialParams();
  std::vector<ParamInfo> params = DescribeParams(descriptor());
  for (ParamInfo& info : params) {
    const auto found = use_.description().parameters().find(info.path);
    if (found != use_.description().parameters().end()) {
      info.comment = found->second.comment();
      continue;
    }
    const auto ours = std::ranges::find(TrialParams(), info.path, &ParamInfo::path);
    if (ours != TrialParams().end()) info.comment = ours->comment;
  }
  return params;
}

std::unique_ptr<Message> TrialForm::New() const { return std::unique_ptr<Message>(prototype_->New()); }

void TrialForm::Write(const Message& point, v1::TrialSpec* trial) const {
  if (!is_program()) return trial->MergeFrom(point);
  CopySettings(point, trial);
  VisitLeaves(MessageToStruct(point), "", [&](const std::string& name, const Value& value) {
    if (name == kSeed) return trial->set_seed(static_cast<std::uint32_t>(value.number_value()));
    const auto parameter = use_.description().parameters().find(name);
    if (parameter == use_.description().parameters().end()) return;  // Of the settings.
    (*PlaceOf(parameter->second, trial)->mutable_fields())[name] = value;
  });
}

std::unique_ptr<Message> TrialForm::Read(const v1::TrialSpec& trial, Problems* problems) const {
  std::unique_ptr<Message> point = New();
  if (!is_program()) {
    point->CopyFrom(trial);
    return point;
  }
  CopySettings(trial, point.get());
  if (trial.has_seed())
    INLIER_CHECK(
        SetLeafText(descriptor()->FindFieldByName(kSeed), absl::StrCat(trial.seed()), point.get()).empty());
  for (const Struct* part :
       {&trial.program().parameters(), &trial.program().incidental(),
        &trial.program_evaluation().parameters(), &trial.program_evaluation().incidental()})
    ApplyStruct(*part, "", point.get(), problems);
  return point;
}

absl::Status TrialForm::Resolve(v1::TrialSpec* trial) const {
  if (!is_program()) return ResolveInPlace(trial);
  Problems problems;
  const std::unique_ptr<Message> point = Read(*trial, &problems);
  RETURN_IF_ERROR(problems.ToStatus());
  WriteDefaults(point.get());
  trial->Clear();
  v1::ProgramTrial& program = *trial->mutable_program();
  program.set_name(use_.name());
  trial->mutable_program_evaluation();
  Write(*point, trial);
  if (!InlierEvaluates(use_.description())) {
    program.set_digest(use_.digest());
    return absl::OkStatus();
  }
  program.set_source(use_.digest());
  return ResolveSettings(trial);
}

Problems TrialForm::Find(const v1::TrialSpec& resolved, SeriesValidator& series) const {
  if (!is_program()) return series.Find(resolved);
  Problems problems;
  const std::unique_ptr<Message> point = Read(resolved, &problems);
  CheckDeclarations(*point, "", &problems);
  if (InlierEvaluates(use_.description())) CheckSettings(resolved, &problems);
  return problems;
}

}  // namespace inlier
