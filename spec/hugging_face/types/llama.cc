#include "base/status.h"
#include "spec/hugging_face/types/decoder_keys.h"
#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kLlama[] = {
    {"num_hidden_layers", "model.llama.layers", kSize},
    {"hidden_size", "model.llama.hidden_size", kSize},
    {"num_attention_heads", "model.llama.heads", kSize},
    {"num_key_value_heads", "model.llama.kv_heads", kSize, "", "model.llama.heads"},
    {"head_dim", "model.llama.head_size", kOptionalSize},
    {"intermediate_size", "model.llama.ffn_size", kSize},
    {"vocab_size", "model.llama.vocab_size", kSize},
    {"max_position_embeddings", "model.llama.max_positions", kSize},
    {"rms_norm_eps", "model.llama.norm_epsilon", kNumber, "1e-6"},
    {"rope_theta", "model.llama.rotary_theta", kNumber, "10000"},
    {"hidden_act", "model.llama.activation", kActivation, "SILU"},
    {"initializer_range", "model.llama.initial_std", kNumber, "0.02"},
    {"tie_word_embeddings", "model.llama.tied_head", kFlag, "false"},
    {"attention_bias", "model.llama.biases", kFlag, "false"},
    {"mlp_bias", "model.llama.ffn_biases", kFlag, "false"},
    {"attention_dropout", "attention.dropout", kNumber, "0"},
};

constexpr FixedKey kLlamaFixed[] = {{"partial_rotary_factor", "1"},
                                    {"sliding_window", "null"},
                                    {"attention_chunk_size", "null"},
                                    {"is_causal", "true"}};

absl::Status FinishLlama(ConfigReader& config, v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  if (llama->ffn_biases() == llama->biases()) llama->clear_ffn_biases();
  return FinishRmsDecoder(
      config, [](std::size_t) { return false; }, spec);
}

}  // namespace

// Touvron et al. 2023, Grattafiori et al. 2024.
const ModelType kLlamaType = {"llama", "llama", kLlama, kLlamaFixed, FinishLlama};

}  // namespace inlier
