#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kGpt2[] = {
    {"n_layer", "model.gpt2.layers", kSize, "", "", 1, "num_hidden_layers"},
    {"n_embd", "model.gpt2.hidden_size", kSize, "", "", 1, "hidden_size"},
    {"n_head", "model.gpt2.heads", kSize, "", "", 1, "num_attention_heads"},
    {"n_inner", "model.gpt2.ffn_size", kSize, "", "model.gpt2.hidden_size", 4},
    {"vocab_size", "model.gpt2.vocab_size", kSize},
    {"n_positions", "model.gpt2.max_positions", kSize, "", "", 1, "max_position_embeddings"},
    {"layer_norm_epsilon", "model.gpt2.norm_epsilon", kNumber, "1e-5"},
    {"activation_function", "model.gpt2.activation", kActivation, "GELU_TANH"},
    {"initializer_range", "model.gpt2.initial_std", kNumber, "0.02"},
    {"tie_word_embeddings", "model.gpt2.tied_head", kFlag, "true"},
    {"resid_pdrop", "dropout", kNumber, "0.1"},
    {"attn_pdrop", "attention.dropout", kNumber, "0.1"},
};

constexpr FixedKey kGpt2Fixed[] = {
    {"scale_attn_weights", "true"}, {"scale_attn_by_inverse_layer_idx", "false"}, {"is_causal", "true"}};

}  // namespace

const ModelType kGpt2Type = {"gpt2", "gpt2", kGpt2, kGpt2Fixed};

}  // namespace inlier
