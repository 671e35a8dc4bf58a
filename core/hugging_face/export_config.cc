// HuggingFaceConfigOfSpec of config.h.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "core/hugging_face/config.h"
#include "core/hugging_face/own_parts.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

using nlohmann::json;

absl::Status Unsupported(const std::string& field, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat(field, ": transformers has no ", what, "; export a trial without it"));
}

const char* ActivationName(v1::Activation activation) {
  switch (activation) {
    case v1::GELU_ERF:
      return "gelu";
    case v1::GELU_TANH:
      return "gelu_new";
    case v1::RELU:
      return "relu";
    case v1::SILU:
      return "silu";
  }
  return "gelu";
}

template <typename Spec>
void CommonSizes(const Spec& spec, json* config) {
  (*config)["num_hidden_layers"] = spec.layers();
  (*config)["hidden_size"] = spec.hidden_size();
  (*config)["num_attention_heads"] = spec.heads();
  (*config)["initializer_range"] = spec.initial_std();
  if constexpr (requires { spec.vocab_size(); }) {
    (*config)["vocab_size"] = spec.vocab_size();
    (*config)["max_position_embeddings"] = spec.max_positions();
  }
}

// transformers' default class names.
void Labels(std::int64_t count, json* config) {
  json labels = json::object(), ids = json::object();
  for (std::int64_t i = 0; i < count; ++i) {
    labels[std::to_string(i)] = "LABEL_" + std::to_string(i);
    ids["LABEL_" + std::to_string(i)] = i;
  }
  (*config)["id2label"] = labels;
  (*config)["label2id"] = ids;
}

absl::StatusOr<json> BertConfig(const v1::TrialSpec& spec, std::int64_t outputs) {
  const v1::BertSpec& bert = spec.model().bert();
  if (bert.norm_placement() != v1::POST)
    return Unsupported("model.bert.norm_placement", "PRE norms in its bert model");
  if (bert.position() == v1::ROTARY)
    return Unsupported("model.bert.position", "ROTARY positions in its bert model");
  json config = {{"model_type", "bert"},
                 {"architectures", {"BertForMaskedLM"}},
                 {"intermediate_size", bert.ffn_size()},
                 {"layer_norm_eps", bert.norm_epsilon()},
                 {"hidden_act", ActivationName(bert.activation())},
                 {"position_embedding_type", "absolute"},
                 {"type_vocab_size", 2},
                 {"pad_token_id", 0},
                 {"hidden_dropout_prob", spec.dropout()},
                 {"attention_probs_dropout_prob", spec.attention().dropout()}};
  CommonSizes(bert, &config);
  if (spec.data().has_classification()) {
    INLIER_CHECK(outputs >= 1);
    const bool number = spec.data().classification().target() == v1::ClassificationDataSpec::NUMBER;
    config["architectures"] = {"BertForSequenceClassification"};
    config["problem_type"] = number ? "regression" : "single_label_classification";
    Labels(outputs, &config);
  }
  return config;
}

absl::StatusOr<json> OptConfig(const v1::TrialSpec& spec) {
  const v1::OptSpec& opt = spec.model().opt();
  json config = {{"model_type", "opt"},
                 {"architectures", {"OPTForCausalLM"}},
                 {"ffn_dim", opt.ffn_size()},
                 {"activation_function", ActivationName(opt.activation())},
                 {"do_layer_norm_before", opt.norm_placement() == v1::PRE},
                 {"word_embed_proj_dim", opt.has_embedding_size() ? opt.embedding_size() : opt.hidden_size()},
                 {"init_std", opt.initial_std()},
                 {"pad_token_id", 1},
                 {"bos_token_id", 2},
                 {"eos_token_id", 2},
                 {"dropout", spec.dropout()},
                 {"attention_dropout", spec.attention().dropout()},
                 {"layerdrop", 0.0}};
  CommonSizes(opt, &config);
  config.erase("initializer_range");
  return config;
}

absl::StatusOr<json> Gpt2Config(const v1::TrialSpec& spec) {
  const v1::Gpt2Spec& gpt2 = spec.model().gpt2();
  if (gpt2.norm_placement() != v1::PRE)
    return Unsupported("model.gpt2.norm_placement", "POST norms in its gpt2 model");
  if (gpt2.position() == v1::ROTARY)
    return Unsupported("model.gpt2.position", "ROTARY positions in its gpt2 model");
  return json{{"model_type", "gpt2"},
              {"architectures", {"GPT2LMHeadModel"}},
              {"n_layer", gpt2.layers()},
              {"n_embd", gpt2.hidden_size()},
              {"n_head", gpt2.heads()},
              {"n_inner", gpt2.ffn_size()},
              {"n_positions", gpt2.max_positions()},
              {"vocab_size", gpt2.vocab_size()},
              {"layer_norm_epsilon", gpt2.norm_epsilon()},
              {"activation_function", ActivationName(gpt2.activation())},
              {"initializer_range", gpt2.initial_std()},
              {"tie_word_embeddings", gpt2.tied_head()},
              {"resid_pdrop", spec.dropout()},
              {"embd_pdrop", spec.dropout()},
              {"attn_pdrop", spec.attention().dropout()}};
}

absl::StatusOr<json> LlamaConfig(const v1::TrialSpec& spec) {
  const v1::LlamaSpec& llama = spec.model().llama();
  if (llama.norm_placement() != v1::PRE)
    return Unsupported("model.llama.norm_placement", "POST norms in its llama model");
  if (llama.position() != v1::ROTARY)
    return Unsupported("model.llama.position",
                       v1::Position_Name(llama.position()) + " positions in its llama model");
  json config = {{"model_type", "llama"},
                 {"architectures", {"LlamaForCausalLM"}},
                 {"intermediate_size", llama.ffn_size()},
                 {"num_key_value_heads", llama.has_kv_heads() ? llama.kv_heads() : llama.heads()},
                 {"rms_norm_eps", llama.norm_epsilon()},
                 {"hidden_act", ActivationName(llama.activation())},
                 {"rope_theta", llama.rotary_theta()},
                 {"attention_bias", llama.biases()},
                 {"mlp_bias", llama.biases()},
                 {"tie_word_embeddings", llama.tied_head()},
                 {"attention_dropout", spec.attention().dropout()}};
  CommonSizes(llama, &config);
  return config;
}

absl::StatusOr<json> VitConfig(const v1::TrialSpec& spec) {
  const v1::VitSpec& vit = spec.model().vit();
  if (vit.norm_placement() != v1::PRE)
    return Unsupported("model.vit.norm_placement", "POST norms in its vit model");
  json config = {{"model_type", "vit"},
                 {"architectures", {"ViTForImageClassification"}},
                 {"intermediate_size", vit.ffn_size()},
                 {"image_size", vit.image_size()},
                 {"patch_size", vit.patch_size()},
                 {"num_channels", vit.channels()},
                 {"layer_norm_eps", vit.norm_epsilon()},
                 {"hidden_act", ActivationName(vit.activation())},
                 {"qkv_bias", true},
                 {"hidden_dropout_prob", spec.dropout()},
                 {"attention_probs_dropout_prob", spec.attention().dropout()}};
  CommonSizes(vit, &config);
  Labels(vit.classes(), &config);
  return config;
}

}  // namespace

absl::StatusOr<json> HuggingFaceConfigOfSpec(const v1::TrialSpec& resolved, std::int64_t outputs,
                                             bool quantized) {
  absl::StatusOr<json> config = absl::InvalidArgumentError("model: nothing is chosen");
  switch (resolved.model().architecture_case()) {
    case v1::ModelSpec::kBert:
      config = BertConfig(resolved, outputs);
      break;
    case v1::ModelSpec::kOpt:
      config = OptConfig(resolved);
      break;
    case v1::ModelSpec::kGpt2:
      config = Gpt2Config(resolved);
      break;
    case v1::ModelSpec::kLlama:
      config = LlamaConfig(resolved);
      break;
    case v1::ModelSpec::kVit:
      config = VitConfig(resolved);
      break;
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      break;
  }
  RETURN_IF_ERROR(config.status());
  (*config)["torch_dtype"] = "float32";
  if (quantized || HasOwnParts(resolved)) AddOwnParts(resolved, quantized, &*config);
  return config;
}

}  // namespace inlier
