#include "spec/trial/resolver.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inlier/v1/param_options.pb.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/field_path.h"
#include "spec/trial/architecture.h"
#include "spec/trial/best_checkpoint.h"
#include "spec/trial/checks/quantization_checks.h"
#include "spec/trial/data_kind.h"
#include "spec/trial/number_formats.h"
#include "spec/trial/presets.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

// Parts of slow descriptors that making groups needs, kept for each thread: a sweep needs it once a trial.
struct TypePlan {
  // Choices with a default member, and that member.
  std::vector<std::pair<const OneofDescriptor*, const FieldDescriptor*>> choices;
  std::vector<std::pair<const FieldDescriptor*, bool>> groups;  // And whether it may stay absent.
};

const TypePlan& PlanOf(const Descriptor* type) {
  thread_local std::unordered_map<const Descriptor*, TypePlan> plans;
  const auto [it, is_new] = plans.try_emplace(type);
  if (!is_new) return it->second;
  TypePlan& plan = it->second;
  for (int i = 0; i < type->oneof_decl_count(); ++i) {
    const OneofDescriptor* choice = type->oneof_decl(i);
    const std::string& name = choice->options().GetExtension(v1::choice).default_member();
    if (name.empty()) continue;
    const FieldDescriptor* member = type->FindFieldByName(name);
    INLIER_CHECK(member != nullptr && member->containing_oneof() == choice);
    plan.choices.emplace_back(choice, member);
  }
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (!IsGroup(field)) continue;
    plan.groups.emplace_back(field, field->containing_oneof() != nullptr ||
                                        field->options().GetExtension(v1::param).may_be_absent());
  }
  return plan;
}

// Makes absent groups and choices without a member as declared, recursively.
void MakeGroupsAndChoices(Message* message) {
  const TypePlan& plan = PlanOf(message->GetDescriptor());
  const Reflection& reflection = *message->GetReflection();
  for (const auto& [choice, member] : plan.choices) {
    if (!reflection.HasOneof(*message, choice)) reflection.MutableMessage(message, member);
  }
  for (const auto& [field, may_stay_absent] : plan.groups) {
    if (may_stay_absent && !reflection.HasField(*message, field)) continue;
    MakeGroupsAndChoices(reflection.MutableMessage(message, field));
  }
}

// Sets what the preset lists and the user did not give.
absl::Status ApplyPreset(const std::string& architecture, const std::string& name, Message* model) {
  const auto preset = std::ranges::find_if(
      Presets(), [&](const Preset& one) { return one.architecture == architecture && one.name == name; });
  if (preset == Presets().end()) {
    std::vector<std::string> names;
    for (const Preset& one : Presets()) {
      if (one.architecture == architecture) names.emplace_back(one.name);
    }
    return absl::InvalidArgumentError("model." + architecture + ".preset: " + Quoted(name) +
                                      " is not a preset of " + architecture + DidYouMean(name, names));
  }
  const Reflection& reflection = *model->GetReflection();
  for (const auto& [field_name, value] : preset->fields) {
    const FieldDescriptor* field = model->GetDescriptor()->FindFieldByName(std::string(field_name));
    INLIER_CHECK(field != nullptr);
    if (reflection.HasField(*model, field)) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      reflection.SetBool(model, field, value != 0);
    } else {
      reflection.SetUInt32(model, field, value);
    }
  }
  return absl::OkStatus();
}

// Fills one of the architectures' messages: by the preset first, then from other fields.
template <typename SizeSpec>
absl::Status FillSizes(const std::string& architecture, const v1::DataSpec& data, SizeSpec* model) {
  if (model->has_preset()) RETURN_IF_ERROR(ApplyPreset(architecture, model->preset(), model));
  if (const std::optional<TokenizedData> tokenized = TokenizedDataOf(data)) {
    if constexpr (requires { model->has_vocab_size(); }) {
      if (!model->has_vocab_size() && tokenized->vocab_size.has_value())
        model->set_vocab_size(*tokenized->vocab_size);
      if (!model->has_max_positions()) model->set_max_positions(tokenized->sequence_length);
    }
  }
  if (const std::optional<KnownImages> images = FindKnownImages(data.images())) {
    if constexpr (requires { model->has_image_size(); }) {
      if (!model->has_image_size()) model->set_image_size(images->image_size);
      if (!model->has_channels()) model->set_channels(images->channels);
      if (!model->has_classes()) model->set_classes(images->classes);
    }
  }
  if constexpr (requires { model->has_embedding_size(); }) {
    if (!model->has_embedding_size() && model->has_hidden_size())
      model->set_embedding_size(model->hidden_size());
  }
  if constexpr (requires { model->has_kv_heads(); }) {
    if (!model->has_kv_heads() && model->has_heads()) model->set_kv_heads(model->heads());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ResolveInPlace(v1::TrialSpec* spec) {
  v1::TrialSpec& resolved = *spec;
  if (resolved.has_quantization() && !QuantizesAnything(resolved.quantization()))
    return absl::InvalidArgumentError(absl::StrCat("quantization: ", kNothingToQuantize));
  MakeGroupsAndChoices(&resolved);
  if (resolved.has_quantization()) WriteFormatBits(resolved.mutable_quantization());
  if (resolved.training().has_low_precision())
    WriteFormatBits(resolved.mutable_training()->mutable_low_precision());
  if (resolved.has_quantization() && IsCalibrated(resolved.quantization())) {
    MakeGroupsAndChoices(resolved.mutable_quantization()->mutable_calibration());
  }
  FillValidation(resolved.mutable_data(), std::nullopt);
  FillBestEvery(resolved.mutable_training());
  v1::ModelSpec& model = *resolved.mutable_model();
  absl::Status filled;
  VisitArchitecture(&model, [&](std::string_view name, auto* architecture) {
    filled = FillSizes(std::string(name), resolved.data(), architecture);
  });
  RETURN_IF_ERROR(filled);
  // The paper leaves the heads of its language models float, and not that of ViT.
  if (model.has_vit() && resolved.quantization().has_reference() &&
      !resolved.quantization().reference().has_setup()) {
    resolved.mutable_quantization()->mutable_reference()->set_setup(v1::ReferenceSchemeSpec::ALL);
  }
  if (v1::EvaluationSpec& evaluation = *resolved.mutable_evaluation(); !evaluation.has_measure()) {
    const bool norms = resolved.has_quantization() && !evaluation.has_sensitivity_batches();
    evaluation.set_measure(norms ? v1::EvaluationSpec::NORMS : v1::EvaluationSpec::ALL);
  }
  if (model.has_llama() && !resolved.has_norm()) resolved.set_norm(v1::RMS_NORM_M);
  if (resolved.attention().softmax().has_ncs() && !resolved.attention().softmax().ncs().has_length()) {
    resolved.mutable_attention()->mutable_softmax()->mutable_ncs()->set_length(
        IsCausal(model) ? v1::NcsSpec::ROW : v1::NcsSpec::RUN);
  }
  if (resolved.data().has_text() && !resolved.data().text().has_objective() &&
      (model.has_bert() || IsCausal(model))) {
    resolved.mutable_data()->mutable_text()->set_objective(model.has_bert() ? v1::MLM : v1::CLM);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::TrialSpec> Resolve(const v1::TrialSpec& spec) {
  v1::TrialSpec resolved = spec;
  RETURN_IF_ERROR(ResolveInPlace(&resolved));
  return resolved;
}

}  // namespace inlier
