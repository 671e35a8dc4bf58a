#include "base/status.h"
#include "spec/hugging_face/types/decoder_keys.h"
#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kMistral[] = {
    {"num_hidden_layers", "model.llama.layers", kSize},
    {"hidden_size", "model.llama.hidden_size", kSize},
    {"num_attention_heads", "model.llama.heads", kSize},
    {"num_key_value_heads", "model.llama.kv_heads", kSize, "8", "model.llama.heads"},
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

constexpr FixedKey kMistralFixed[] = {
    {"partial_rotary_factor", "1"}, {"attention_chunk_size", "null"}, {"is_causal", "true"}};

absl::Status FinishMistral(ConfigReader& config, v1::TrialSpec* spec) {
  RETURN_IF_ERROR(FinishRmsDecoder(
      config, [](std::size_t) { return true; }, spec));
  const v1::LlamaSpec& llama = spec->model().llama();
  // transformers' class has the window in all layers, whatever their types.
  if (llama.window_from() > 0 || llama.has_window_period())
    return RefuseKey("layer_types", "differ, and transformers' Mistral gives all layers the window");
  return absl::OkStatus();
}

}  // namespace

// Jiang et al. 2023.
const ModelType kMistralType = {"mistral", "llama", kMistral, kMistralFixed, FinishMistral};

}  // namespace inlier
