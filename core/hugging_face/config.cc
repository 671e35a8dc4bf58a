#include "core/hugging_face/config.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/json_text.h"
#include "base/mapped_file.h"
#include "base/status.h"
#include "core/hugging_face/own_parts.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

using nlohmann::json;

absl::Status Refuse(const std::string& key, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", what));
}

// Reads keys of one config.json; keeps the first error, after which returned values are meaningless.
class ConfigReader {
 public:
  explicit ConfigReader(const json& config) : config_(config) {}

  std::uint32_t Size(const char* key) {
    const json* value = Find(key);
    if (value == nullptr) return Fail<std::uint32_t>(key, "is missing: this is not a whole config.json", 0);
    if (!value->is_number_integer() || value->get<std::int64_t>() < 1 ||
        value->get<std::int64_t>() > UINT32_MAX) {
      return Fail<std::uint32_t>(key, "is not a size: it must be a whole number of at least 1", 0);
    }
    return static_cast<std::uint32_t>(value->get<std::int64_t>());
  }
  std::uint32_t Size(const char* key, std::uint32_t otherwise) {
    const json* value = Find(key);
    return value == nullptr || value->is_null() ? otherwise : Size(key);
  }
  double Number(const char* key, double otherwise) {
    const json* value = Find(key);
    if (value == nullptr || value->is_null()) return otherwise;
    if (!value->is_number()) return Fail(key, "is not a number", otherwise);
    return value->get<double>();
  }
  bool Flag(const char* key, bool otherwise) {
    const json* value = Find(key);
    if (value == nullptr || value->is_null()) return otherwise;
    if (!value->is_boolean()) return Fail(key, "is neither true nor false", otherwise);
    return value->get<bool>();
  }
  // A flag that must have this value, because the other one has no counterpart here.
  void Require(const char* key, bool wanted) {
    if (Flag(key, wanted) != wanted)
      Fail(key, absl::StrCat(wanted ? "false" : "true", " is not supported by inlier's models"), 0);
  }
  v1::Activation ActivationOf(const char* key, const char* otherwise) {
    const json* value = Find(key);
    const std::string name = value != nullptr && value->is_string() ? value->get<std::string>() : otherwise;
    if (name == "gelu") return v1::GELU_ERF;
    if (name == "gelu_new" || name == "gelu_pytorch_tanh") return v1::GELU_TANH;
    if (name == "relu") return v1::RELU;
    if (name == "silu" || name == "swish") return v1::SILU;
    return Fail(key, "is not known: gelu, gelu_new, gelu_pytorch_tanh, relu and silu are", v1::RELU);
  }
  const json* Find(const char* key) const {
    const auto found = config_.find(key);
    return found == config_.end() ? nullptr : &*found;
  }
  template <typename T>
  T Fail(const std::string& key, const std::string& what, T value) {
    if (status_.ok()) status_ = Refuse(key, what);
    return value;
  }
  const absl::Status& status() const { return status_; }

 private:
  const json& config_;
  absl::Status status_;
};

// A BertForSequenceClassification. Without problem_type, transformers takes one output as a number.
void ReadBertClassifier(ConfigReader& config, v1::TrialSpec* spec) {
  const json* problem = config.Find("problem_type");
  const json* labels = config.Find("id2label");
  const bool one = labels != nullptr ? labels->size() == 1 : config.Size("num_labels", 2) == 1;
  const std::string kind = problem != nullptr && problem->is_string() ? problem->get<std::string>()
                           : one                                      ? "regression"
                                                                      : "single_label_classification";
  if (kind != "regression" && kind != "single_label_classification")
    config.Fail("problem_type", "is not known: regression and single_label_classification are", 0);
  if (kind == "regression" && !one)
    config.Fail("problem_type", "regression of several numbers is not supported by inlier's models", 0);
  if (config.Number("classifier_dropout", spec->dropout()) != spec->dropout())
    config.Fail("classifier_dropout", "differs from hidden_dropout_prob, and there is one dropout here", 0);
  spec->mutable_data()->mutable_classification()->set_target(
      kind == "regression" ? v1::ClassificationDataSpec::NUMBER : v1::ClassificationDataSpec::CLASS);
}

void ReadBert(ConfigReader& config, v1::TrialSpec* spec) {
  v1::BertSpec* bert = spec->mutable_model()->mutable_bert();
  bert->set_layers(config.Size("num_hidden_layers"));
  bert->set_hidden_size(config.Size("hidden_size"));
  bert->set_heads(config.Size("num_attention_heads"));
  bert->set_ffn_size(config.Size("intermediate_size"));
  bert->set_vocab_size(config.Size("vocab_size"));
  bert->set_max_positions(config.Size("max_position_embeddings"));
  bert->set_norm_epsilon(config.Number("layer_norm_eps", 1e-12));
  bert->set_activation(config.ActivationOf("hidden_act", "gelu"));
  bert->set_initial_std(config.Number("initializer_range", 0.02));
  const json* position = config.Find("position_embedding_type");
  if (position != nullptr && position->is_string() && *position != "absolute")
    config.Fail("position_embedding_type", "is not known: only \"absolute\" is", 0);
  if (config.Size("type_vocab_size", 2) != 2)
    config.Fail("type_vocab_size", "only two token types are known here", 0);
  config.Require("is_decoder", false);
  config.Require("tie_word_embeddings", true);
  spec->set_dropout(config.Number("hidden_dropout_prob", 0.1));
  spec->mutable_attention()->set_dropout(config.Number("attention_probs_dropout_prob", 0.1));
  const json* architectures = config.Find("architectures");
  if (architectures != nullptr && (*architectures == json::array({"BertForSequenceClassification"}) ||
                                   *architectures == json::array({"InlierBertForSequenceClassification"})))
    ReadBertClassifier(config, spec);
}

void ReadOpt(ConfigReader& config, v1::TrialSpec* spec) {
  v1::OptSpec* opt = spec->mutable_model()->mutable_opt();
  opt->set_layers(config.Size("num_hidden_layers"));
  opt->set_hidden_size(config.Size("hidden_size"));
  opt->set_heads(config.Size("num_attention_heads"));
  opt->set_ffn_size(config.Size("ffn_dim"));
  opt->set_vocab_size(config.Size("vocab_size"));
  opt->set_max_positions(config.Size("max_position_embeddings"));
  opt->set_embedding_size(config.Size("word_embed_proj_dim", opt->hidden_size()));
  opt->set_activation(config.ActivationOf("activation_function", "relu"));
  opt->set_norm_placement(config.Flag("do_layer_norm_before", true) ? v1::PRE : v1::POST);
  opt->set_initial_std(config.Number("init_std", 0.02));
  config.Require("enable_bias", true);
  config.Require("layer_norm_elementwise_affine", true);
  config.Require("_remove_final_layer_norm", false);
  config.Require("tie_word_embeddings", true);
  if (config.Size("pad_token_id", 1) != 1) config.Fail("pad_token_id", "OPT pads with 1 here", 0);
  spec->set_dropout(config.Number("dropout", 0.1));
  spec->mutable_attention()->set_dropout(config.Number("attention_dropout", 0.0));
}

void ReadGpt2(ConfigReader& config, v1::TrialSpec* spec) {
  v1::Gpt2Spec* gpt2 = spec->mutable_model()->mutable_gpt2();
  gpt2->set_layers(config.Size("n_layer"));
  gpt2->set_hidden_size(config.Size("n_embd"));
  gpt2->set_heads(config.Size("n_head"));
  gpt2->set_ffn_size(config.Size("n_inner", 4 * gpt2->hidden_size()));
  gpt2->set_vocab_size(config.Size("vocab_size"));
  gpt2->set_max_positions(config.Size("n_positions"));
  gpt2->set_norm_epsilon(config.Number("layer_norm_epsilon", 1e-5));
  gpt2->set_activation(config.ActivationOf("activation_function", "gelu_new"));
  gpt2->set_initial_std(config.Number("initializer_range", 0.02));
  gpt2->set_tied_head(config.Flag("tie_word_embeddings", true));
  config.Require("scale_attn_weights", true);
  config.Require("scale_attn_by_inverse_layer_idx", false);
  config.Require("add_cross_attention", false);
  spec->set_dropout(config.Number("resid_pdrop", 0.1));
  spec->mutable_attention()->set_dropout(config.Number("attn_pdrop", 0.1));
}

void ReadRotary(ConfigReader& config, v1::LlamaSpec* llama) {
  double theta = config.Number("rope_theta", 10000.0);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* rope = config.Find(key);
    if (rope == nullptr || rope->is_null()) continue;
    const json& kind =
        rope->contains("rope_type") ? rope->at("rope_type") : rope->value("type", json("default"));
    const std::string type = kind.is_string() ? kind.get<std::string>() : "";
    if (type != "default") config.Fail(key, "is not known: only unscaled rotary positions are", 0);
    if (rope->contains("rope_theta")) theta = rope->value("rope_theta", theta);
  }
  llama->set_rotary_theta(theta);
}

void ReadLlama(ConfigReader& config, v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  llama->set_layers(config.Size("num_hidden_layers"));
  llama->set_hidden_size(config.Size("hidden_size"));
  llama->set_heads(config.Size("num_attention_heads"));
  llama->set_kv_heads(config.Size("num_key_value_heads", llama->heads()));
  llama->set_ffn_size(config.Size("intermediate_size"));
  llama->set_vocab_size(config.Size("vocab_size"));
  llama->set_max_positions(config.Size("max_position_embeddings"));
  llama->set_norm_epsilon(config.Number("rms_norm_eps", 1e-6));
  llama->set_activation(config.ActivationOf("hidden_act", "silu"));
  llama->set_initial_std(config.Number("initializer_range", 0.02));
  llama->set_tied_head(config.Flag("tie_word_embeddings", false));
  llama->set_biases(config.Flag("attention_bias", false));
  if (config.Flag("mlp_bias", false) != llama->biases())
    config.Fail("mlp_bias", "differs from attention_bias, and biases are on or off for all linears here", 0);
  if (llama->heads() > 0 &&
      config.Size("head_dim", llama->hidden_size() / llama->heads()) * llama->heads() != llama->hidden_size())
    config.Fail("head_dim", "is not hidden_size / num_attention_heads", 0);
  ReadRotary(config, llama);
  spec->set_norm(v1::RMS_NORM_M);
  spec->mutable_attention()->set_dropout(config.Number("attention_dropout", 0.0));
}

void ReadVit(ConfigReader& config, v1::TrialSpec* spec) {
  v1::VitSpec* vit = spec->mutable_model()->mutable_vit();
  vit->set_layers(config.Size("num_hidden_layers"));
  vit->set_hidden_size(config.Size("hidden_size"));
  vit->set_heads(config.Size("num_attention_heads"));
  vit->set_ffn_size(config.Size("intermediate_size"));
  vit->set_image_size(config.Size("image_size", 224));
  vit->set_patch_size(config.Size("patch_size", 16));
  vit->set_channels(config.Size("num_channels", 3));
  const json* labels = config.Find("id2label");
  vit->set_classes(labels != nullptr && labels->is_object() && !labels->empty()
                       ? static_cast<std::uint32_t>(labels->size())
                       : config.Size("num_labels", 2));
  vit->set_norm_epsilon(config.Number("layer_norm_eps", 1e-12));
  vit->set_activation(config.ActivationOf("hidden_act", "gelu"));
  vit->set_initial_std(config.Number("initializer_range", 0.02));
  config.Require("qkv_bias", true);
  spec->set_dropout(config.Number("hidden_dropout_prob", 0.0));
  spec->mutable_attention()->set_dropout(config.Number("attention_probs_dropout_prob", 0.0));
}

}  // namespace

absl::StatusOr<v1::TrialSpec> SpecOfHuggingFaceConfig(const json& config) {
  if (!config.is_object()) return Refuse("config.json", "is not an object of keys and values");
  if (config.contains("quantization_config"))
    return Refuse("quantization_config", "the weights are stored quantized; give the float model");
  ConfigReader reader(config);
  v1::TrialSpec spec;
  const json* named = reader.Find("model_type");
  const std::string whole = named != nullptr && named->is_string() ? named->get<std::string>() : "";
  const std::string type(absl::StripPrefix(whole, "inlier_"));
  if (type == "bert") {
    ReadBert(reader, &spec);
  } else if (type == "opt") {
    ReadOpt(reader, &spec);
  } else if (type == "gpt2") {
    ReadGpt2(reader, &spec);
  } else if (type == "llama") {
    ReadLlama(reader, &spec);
  } else if (type == "vit") {
    ReadVit(reader, &spec);
  } else {
    return Refuse("model_type", "is not known: bert, opt, gpt2, llama and vit are");
  }
  RETURN_IF_ERROR(reader.status());
  if (type != whole) RETURN_IF_ERROR(ReadOwnParts(config, &spec));
  return spec;
}

absl::StatusOr<v1::TrialSpec> ReadHuggingFaceConfig(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) {
    return absl::NotFoundError(
        absl::StrCat(std::string(file.status().message()),
                     "; give a folder with config.json and model.safetensors, as transformers' "
                     "save_pretrained writes it"));
  }
  ASSIGN_OR_RETURN(const json config, ParseJsonText(file->bytes(), path.string()));
  absl::StatusOr<v1::TrialSpec> spec = SpecOfHuggingFaceConfig(config);
  if (spec.ok()) return spec;
  return absl::Status(spec.status().code(),
                      absl::StrCat(path.string(), ": ", std::string(spec.status().message())));
}

}  // namespace inlier
