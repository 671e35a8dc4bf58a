#include "proto/spec/resolver.h"

#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/status.h"
#include "inlier/v1/param_options.pb.h"
#include "proto/spec/did_you_mean.h"
#include "proto/spec/presets.h"
#include "proto/spec/utf8.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

// Groups that are absent, and choices without a member: made as declared, all the way down.
void MakeGroupsAndChoices(Message* message) {
  const Descriptor* type = message->GetDescriptor();
  const Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < type->oneof_decl_count(); ++i) {
    const OneofDescriptor* choice = type->oneof_decl(i);
    const std::string& name = choice->options().GetExtension(v1::choice).default_member();
    if (name.empty() || reflection.HasOneof(*message, choice)) continue;
    const FieldDescriptor* member = type->FindFieldByName(name);
    INLIER_CHECK(member != nullptr && member->containing_oneof() == choice);
    reflection.MutableMessage(message, member);
  }
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const bool stays_absent =
        field->containing_oneof() != nullptr || field->options().GetExtension(v1::param).may_be_absent();
    if (stays_absent && !reflection.HasField(*message, field)) continue;
    MakeGroupsAndChoices(reflection.MutableMessage(message, field));
  }
}

// Vocabulary of the tokenizer that the spec names.
std::uint32_t TokenizerVocabSize(const v1::TokenizerSpec& tokenizer) {
  return tokenizer.byte_pair().vocab_size();
}

// BertSpec or OptSpec.
template <typename SizeSpec>
absl::Status FillSizes(const std::string& architecture, const v1::DataSpec& data, SizeSpec* model) {
  if (model->has_preset()) {
    const Preset* preset = FindPreset(architecture, model->preset());
    if (preset == nullptr) {
      const std::vector<std::string> names = PresetNames(architecture);
      return absl::InvalidArgumentError("model." + architecture + ".preset: " + Quoted(model->preset()) +
                                        " is not a preset of " + architecture +
                                        DidYouMean(model->preset(), names));
    }
    if (!model->has_layers()) model->set_layers(preset->layers);
    if (!model->has_hidden_size()) model->set_hidden_size(preset->hidden_size);
    if (!model->has_heads()) model->set_heads(preset->heads);
    if (!model->has_ffn_size()) model->set_ffn_size(preset->ffn_size);
    if (!model->has_vocab_size() && preset->vocab_size != 0) model->set_vocab_size(preset->vocab_size);
    if (!model->has_max_positions() && preset->max_positions != 0)
      model->set_max_positions(preset->max_positions);
    if constexpr (requires { model->has_embedding_size(); }) {
      if (!model->has_embedding_size() && preset->embedding_size != 0)
        model->set_embedding_size(preset->embedding_size);
    }
  }
  if (data.has_text()) {
    if (!model->has_vocab_size()) model->set_vocab_size(TokenizerVocabSize(data.text().tokenizer()));
    if (!model->has_max_positions()) model->set_max_positions(data.text().sequence_length());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::TrialSpec> Resolve(const v1::TrialSpec& spec) {
  v1::TrialSpec resolved = spec;
  if (resolved.has_quantization() && !resolved.quantization().has_weights() &&
      !resolved.quantization().has_activations()) {
    return absl::InvalidArgumentError(
        "quantization: says nothing to quantize; give weights and/or activations, for example {weights: "
        "{bits: 8}, activations: {bits: 8}}");
  }
  MakeGroupsAndChoices(&resolved);
  if (resolved.has_quantization() && resolved.quantization().has_activations()) {
    MakeGroupsAndChoices(resolved.mutable_quantization()->mutable_calibration());
  }
  v1::ModelSpec& model = *resolved.mutable_model();
  switch (model.architecture_case()) {
    case v1::ModelSpec::kBert:
      RETURN_IF_ERROR(FillSizes("bert", resolved.data(), model.mutable_bert()));
      break;
    case v1::ModelSpec::kOpt: {
      v1::OptSpec& opt = *model.mutable_opt();
      RETURN_IF_ERROR(FillSizes("opt", resolved.data(), &opt));
      if (!opt.has_embedding_size() && opt.has_hidden_size()) opt.set_embedding_size(opt.hidden_size());
      break;
    }
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      break;
  }
  if (resolved.data().has_text() && !resolved.data().text().has_objective() &&
      model.architecture_case() != v1::ModelSpec::ARCHITECTURE_NOT_SET) {
    resolved.mutable_data()->mutable_text()->set_objective(model.has_bert() ? v1::MLM : v1::CLM);
  }
  return resolved;
}

}  // namespace inlier
