#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kDistilBert[] = {
    {"n_layers", "model.bert.layers", kSize, "", "", 1, "num_hidden_layers"},
    {"dim", "model.bert.hidden_size", kSize, "", "", 1, "hidden_size"},
    {"n_heads", "model.bert.heads", kSize, "", "", 1, "num_attention_heads"},
    {"hidden_dim", "model.bert.ffn_size", kSize},
    {"vocab_size", "model.bert.vocab_size", kSize},
    {"max_position_embeddings", "model.bert.max_positions", kSize},
    {"activation", "model.bert.activation", kActivation, "GELU_ERF"},
    {"initializer_range", "model.bert.initial_std", kNumber, "0.02"},
    {"dropout", "dropout", kNumber, "0.1"},
    {"attention_dropout", "attention.dropout", kNumber, "0.1"},
};

constexpr FixedKey kDistilBertFixed[] = {
    {"is_decoder", "false"}, {"tie_weights_", "true", true}, {"tie_word_embeddings", "true", true}};

}  // namespace

// Sanh et al. 2019. Sinusoidal positions are in the weights, as learned ones.
const ModelType kDistilBertType = {"distilbert", "bert", kDistilBert, kDistilBertFixed};

}  // namespace inlier
