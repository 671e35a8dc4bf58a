#include "spec/hugging_face/types/decoder_keys.h"
#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kStableLm[] = {
    {"num_hidden_layers", "model.llama.layers", kSize},
    {"hidden_size", "model.llama.hidden_size", kSize},
    {"num_attention_heads", "model.llama.heads", kSize},
    {"num_key_value_heads", "model.llama.kv_heads", kSize, "32", "model.llama.heads"},
    {"intermediate_size", "model.llama.ffn_size", kSize},
    {"vocab_size", "model.llama.vocab_size", kSize},
    {"max_position_embeddings", "model.llama.max_positions", kSize},
    {"layer_norm_eps", "model.llama.norm_epsilon", kNumber, "1e-5"},
    {"rope_theta", "model.llama.rotary_theta", kNumber, "10000"},
    {"partial_rotary_factor", "model.llama.rotary_share", kNumber, "0.25"},
    {"hidden_act", "model.llama.activation", kActivation, "SILU"},
    {"initializer_range", "model.llama.initial_std", kNumber, "0.02"},
    {"tie_word_embeddings", "model.llama.tied_head", kFlag, "false"},
    {"use_qkv_bias", "model.llama.qkv_biases", kFlag, "false"},
    {"hidden_dropout", "dropout", kNumber, "0"},
    {"attention_dropout", "attention.dropout", kNumber, "0"},
};

constexpr FixedKey kStableLmFixed[] = {
    {"qk_layernorm", "false"}, {"use_parallel_residual", "false"}, {"is_causal", "true"}};

absl::Status FinishStableLm(ConfigReader& config, v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  if (!llama->qkv_biases()) llama->clear_qkv_biases();
  spec->set_norm(v1::LAYER_NORM);
  return ReadRotary(config, llama);
}

}  // namespace

// Bellagente et al. 2024 ("Stable LM 2 1.6B Technical Report").
const ModelType kStableLmType = {"stablelm", "llama", kStableLm, kStableLmFixed, FinishStableLm};

}  // namespace inlier
