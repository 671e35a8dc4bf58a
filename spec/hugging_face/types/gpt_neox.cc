#include "spec/hugging_face/types/decoder_keys.h"
#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kGptNeox[] = {
    {"num_hidden_layers", "model.llama.layers", kSize},
    {"hidden_size", "model.llama.hidden_size", kSize},
    {"num_attention_heads", "model.llama.heads", kSize},
    {"intermediate_size", "model.llama.ffn_size", kSize},
    {"vocab_size", "model.llama.vocab_size", kSize},
    {"max_position_embeddings", "model.llama.max_positions", kSize},
    {"layer_norm_eps", "model.llama.norm_epsilon", kNumber, "1e-5"},
    {"rotary_emb_base", "model.llama.rotary_theta", kNumber, "10000"},
    {"rotary_pct", "model.llama.rotary_share", kNumber, "0.25"},
    {"hidden_act", "model.llama.activation", kActivation, "GELU_ERF"},
    {"initializer_range", "model.llama.initial_std", kNumber, "0.02"},
    {"tie_word_embeddings", "model.llama.tied_head", kFlag, "false"},
    {"attention_bias", "model.llama.biases", kFlag, "true"},
    {"use_parallel_residual", "model.llama.parallel", kFlag, "true"},
    {"hidden_dropout", "dropout", kNumber, "0"},
    {"attention_dropout", "attention.dropout", kNumber, "0"},
};

constexpr FixedKey kGptNeoxFixed[] = {{"is_causal", "true"}};

absl::Status FinishGptNeox(ConfigReader& config, v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  if (!llama->biases()) llama->set_ffn_biases(true);
  llama->set_gated_ffn(false);
  spec->set_norm(v1::LAYER_NORM);
  return ReadRotary(config, llama);
}

}  // namespace

// Black et al. 2022; Biderman et al. 2023 (Pythia).
const ModelType kGptNeoxType = {"gpt_neox", "llama", kGptNeox, kGptNeoxFixed, FinishGptNeox};

}  // namespace inlier
