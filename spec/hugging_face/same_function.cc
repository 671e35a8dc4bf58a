// CheckSameFunction of config.h.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spec/hugging_face/config.h"
#include "spec/hugging_face/config_keys.h"
#include "spec/schema/field_path.h"
#include "spec/trial/architecture.h"
#include "spec/trial/canonical.h"

namespace inlier {
namespace {

// Fields of a model that the weights' names and shapes decide, or that have an effect only before there are weights.
const std::set<std::string>& OfWeightsOrStart() {
  static const std::set<std::string> fields = {"preset",         "vocab_size",          "max_positions",
                                               "classes",        "registers",           "initial_std",
                                               "initialisation", "patch_initialisation"};
  return fields;
}

void FillLlama(v1::LlamaSpec* llama) {
  if (!llama->has_kv_heads()) llama->set_kv_heads(llama->heads());
  if (!llama->has_head_size() && llama->heads() > 0)
    llama->set_head_size(llama->hidden_size() / llama->heads());
  if (!llama->has_score_size()) llama->set_score_size(llama->head_size());
  if (!llama->has_qkv_biases()) llama->set_qkv_biases(llama->biases());
  if (!llama->has_ffn_biases()) llama->set_ffn_biases(llama->biases());
}

// `spec` with the defaults that follow from other fields.
v1::TrialSpec Filled(v1::TrialSpec spec) {
  v1::ModelSpec& model = *spec.mutable_model();
  if (model.has_llama()) FillLlama(model.mutable_llama());
  if (model.has_opt() && !model.opt().has_embedding_size())
    model.mutable_opt()->set_embedding_size(model.opt().hidden_size());
  return spec;
}

// The fields that have to be equal in both specs.
std::vector<std::string> ComparedFields(const v1::TrialSpec& source, const v1::TrialSpec& trial) {
  std::vector<std::string> fields;
  VisitArchitecture(source.model(), [&fields](std::string_view name, const auto& model) {
    for (int i = 0; i < model.GetDescriptor()->field_count(); ++i) {
      const std::string& field = model.GetDescriptor()->field(i)->name();
      if (OfWeightsOrStart().count(field) > 0 || field == "rotary_scaling") continue;  // A group.
      if constexpr (requires { model.rotary_theta(); }) {
        if (field == "rotary_theta" && model.position() != v1::ROTARY) continue;
      }
      fields.push_back(absl::StrCat("model.", std::string(name), ".", field));
    }
  });
  fields.insert(fields.end(), {"norm", "residual_gain"});
  // Parts that the source has; those that only the trial has start as new.
  const v1::AttentionSpec& attention = source.attention();
  if (attention.query_key_norm() != v1::NO_NORM) fields.push_back("attention.query_key_norm");
  if (attention.prefix_tokens() > 1) fields.push_back("attention.prefix_tokens");
  if (attention.has_window()) fields.push_back("attention.window");
  if (attention.document_mask()) fields.push_back("attention.document_mask");
  const v1::GateSpec& gate = attention.gate();
  if (HasGate(gate)) {
    fields.insert(fields.end(), {"attention.gate.pooled", "attention.gate.output_factor"});
    if (gate.has_projected() && trial.attention().gate().has_projected())
      fields.insert(fields.end(), {"attention.gate.projected.place", "attention.gate.projected.granularity"});
  }
  return fields;
}

std::string SoftmaxOf(const v1::TrialSpec& spec) { return ChosenMember(spec.attention().softmax(), "kind"); }

}  // namespace

absl::Status CheckSameFunction(const v1::TrialSpec& source, const v1::TrialSpec& trial,
                               std::string_view model_type) {
  const bool by_key = !model_type.empty();
  const std::string architecture(ArchitectureName(source.model())), other(ArchitectureName(trial.model()));
  const auto differs = [&](const std::string& field, const std::string& theirs, const std::string& ours) {
    const std::string key(KeyOfField(model_type, field));
    return absl::InvalidArgumentError(
        absl::StrCat(key, key.empty() ? "" : ": ", "the model was trained with ", field, " ", theirs,
                     ", and the trial has ", ours, "; set ", field, ": ", theirs));
  };
  if (architecture != other) {
    return absl::InvalidArgumentError(absl::StrCat(by_key ? "model_type: " : "", "the model is ",
                                                   architecture, ", and the trial's is ", other));
  }
  const v1::TrialSpec theirs = Filled(source), ours = Filled(trial);
  if (theirs.model().has_llama()) {
    const std::string scaling = CanonicalJson(theirs.model().llama().rotary_scaling());
    const std::string our_scaling = CanonicalJson(ours.model().llama().rotary_scaling());
    if (scaling != our_scaling) return differs("model.llama.rotary_scaling", scaling, our_scaling);
  }
  for (const std::string& field : ComparedFields(theirs, ours)) {
    const FieldPath path = FieldPath::Known(v1::TrialSpec::descriptor(), field);
    if (path.GetText(theirs) != path.GetText(ours))
      return differs(field, path.GetText(theirs), path.GetText(ours));
  }
  // Of a checkpoint of inlier both softmaxes are in the user's own words; a folder's may not be known to the user.
  if (by_key && SoftmaxOf(source) != "vanilla" && SoftmaxOf(trial) == "vanilla")
    return differs("attention.softmax", SoftmaxOf(source), "vanilla");
  return absl::OkStatus();
}

}  // namespace inlier
