#include "base/status.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/types/decoder_keys.h"
#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kQwen2[] = {
    {"num_hidden_layers", "model.llama.layers", kSize},
    {"hidden_size", "model.llama.hidden_size", kSize},
    {"num_attention_heads", "model.llama.heads", kSize},
    {"num_key_value_heads", "model.llama.kv_heads", kSize, "32", "model.llama.heads"},
    {"head_dim", "model.llama.head_size", kOptionalSize},
    {"intermediate_size", "model.llama.ffn_size", kSize},
    {"vocab_size", "model.llama.vocab_size", kSize},
    {"max_position_embeddings", "model.llama.max_positions", kSize},
    {"rms_norm_eps", "model.llama.norm_epsilon", kNumber, "1e-6"},
    {"rope_theta", "model.llama.rotary_theta", kNumber, "10000"},
    {"hidden_act", "model.llama.activation", kActivation, "SILU"},
    {"initializer_range", "model.llama.initial_std", kNumber, "0.02"},
    {"tie_word_embeddings", "model.llama.tied_head", kFlag, "false"},
    {"sliding_window", "model.llama.window", kOptionalSize, "4096"},
    {"attention_dropout", "attention.dropout", kNumber, "0"},
};

constexpr FieldKey kQwen3[] = {
    {"num_hidden_layers", "model.llama.layers", kSize},
    {"hidden_size", "model.llama.hidden_size", kSize},
    {"num_attention_heads", "model.llama.heads", kSize},
    {"num_key_value_heads", "model.llama.kv_heads", kSize, "32", "model.llama.heads"},
    {"head_dim", "model.llama.head_size", kSize, "128"},
    {"intermediate_size", "model.llama.ffn_size", kSize},
    {"vocab_size", "model.llama.vocab_size", kSize},
    {"max_position_embeddings", "model.llama.max_positions", kSize},
    {"rms_norm_eps", "model.llama.norm_epsilon", kNumber, "1e-6"},
    {"rope_theta", "model.llama.rotary_theta", kNumber, "10000"},
    {"hidden_act", "model.llama.activation", kActivation, "SILU"},
    {"initializer_range", "model.llama.initial_std", kNumber, "0.02"},
    {"tie_word_embeddings", "model.llama.tied_head", kFlag, "false"},
    {"attention_bias", "model.llama.biases", kFlag, "false"},
    {"sliding_window", "model.llama.window", kOptionalSize, "4096"},
    {"attention_dropout", "attention.dropout", kNumber, "0"},
};

constexpr FixedKey kQwenFixed[] = {{"partial_rotary_factor", "1"},
                                   {"attention_chunk_size", "null"},
                                   {"use_mrope", "false"},
                                   {"is_causal", "true"}};

// Layers from max_window_layers on have the window, where use_sliding_window is true.
absl::Status FinishQwen(ConfigReader& config, v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  const nlohmann::json* use = config.FindValue("use_sliding_window");
  if (use != nullptr && !use->is_boolean())
    return RefuseKey("use_sliding_window", "is neither true nor false");
  if (use == nullptr || !use->get<bool>()) llama->clear_window();
  const nlohmann::json* first = config.FindValue("max_window_layers");
  if (first != nullptr && !(first->is_number_integer() && *first >= 0))
    return RefuseKey("max_window_layers", "is not a number of layers");
  const std::uint64_t from = first == nullptr ? 28 : first->get<std::uint64_t>();
  return FinishRmsDecoder(
      config, [from](std::size_t layer) { return layer >= from; }, spec);
}

absl::Status FinishQwen2(ConfigReader& config, v1::TrialSpec* spec) {
  spec->mutable_model()->mutable_llama()->set_qkv_biases(true);
  return FinishQwen(config, spec);
}

absl::Status FinishQwen3(ConfigReader& config, v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  if (llama->biases()) llama->set_ffn_biases(false);
  spec->mutable_attention()->set_query_key_norm(v1::HEAD_RMS);
  return FinishQwen(config, spec);
}

}  // namespace

// Yang et al. 2024 (Qwen 2, 2.5) and 2025 (Qwen 3).
const ModelType kQwen2Type = {"qwen2", "llama", kQwen2, kQwenFixed, FinishQwen2};
const ModelType kQwen3Type = {"qwen3", "llama", kQwen3, kQwenFixed, FinishQwen3};

}  // namespace inlier
