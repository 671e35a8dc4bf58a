#include <cmath>

#include "base/status.h"
#include "spec/hugging_face/types/decoder_keys.h"
#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kGemma2[] = {
    {"num_hidden_layers", "model.llama.layers", kSize},
    {"hidden_size", "model.llama.hidden_size", kSize},
    {"num_attention_heads", "model.llama.heads", kSize},
    {"num_key_value_heads", "model.llama.kv_heads", kSize, "4", "model.llama.heads"},
    {"head_dim", "model.llama.head_size", kSize, "256"},
    {"query_pre_attn_scalar", "model.llama.score_size", kNumber, "256"},
    {"intermediate_size", "model.llama.ffn_size", kSize},
    {"vocab_size", "model.llama.vocab_size", kSize},
    {"max_position_embeddings", "model.llama.max_positions", kSize},
    {"rms_norm_eps", "model.llama.norm_epsilon", kNumber, "1e-6"},
    {"rope_theta", "model.llama.rotary_theta", kNumber, "10000"},
    {"hidden_activation", "model.llama.activation", kActivation, "GELU_TANH"},
    {"initializer_range", "model.llama.initial_std", kNumber, "0.02"},
    {"tie_word_embeddings", "model.llama.tied_head", kFlag, "true"},
    {"attention_bias", "model.llama.biases", kFlag, "false"},
    {"sliding_window", "model.llama.window", kOptionalSize, "4096"},
    {"attn_logit_softcapping", "model.llama.score_cap", kOptionalNumber, "50"},
    {"final_logit_softcapping", "model.llama.logit_cap", kOptionalNumber, "30"},
    {"attention_dropout", "attention.dropout", kNumber, "0"},
};

constexpr FixedKey kGemma2Fixed[] = {
    {"partial_rotary_factor", "1"}, {"use_bidirectional_attention", "false"}, {"is_causal", "true"}};

// Every second layer has the window.
absl::Status FinishGemma2(ConfigReader& config, v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  if (llama->biases()) llama->set_ffn_biases(false);
  llama->set_norm_placement(v1::PERI);
  llama->set_embedding_factor(std::sqrt(static_cast<double>(llama->hidden_size())));
  return FinishRmsDecoder(
      config, [](std::size_t layer) { return layer % 2 == 0; }, spec);
}

}  // namespace

// Gemma Team 2024. The files store gains less 1 (core/hugging_face/stored_forms.cc).
const ModelType kGemma2Type = {"gemma2", "llama", kGemma2, kGemma2Fixed, FinishGemma2};

}  // namespace inlier
