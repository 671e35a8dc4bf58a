#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kBert[] = {
    {"num_hidden_layers", "model.bert.layers", kSize},
    {"hidden_size", "model.bert.hidden_size", kSize},
    {"num_attention_heads", "model.bert.heads", kSize},
    {"intermediate_size", "model.bert.ffn_size", kSize},
    {"vocab_size", "model.bert.vocab_size", kSize},
    {"max_position_embeddings", "model.bert.max_positions", kSize},
    {"layer_norm_eps", "model.bert.norm_epsilon", kNumber, "1e-12"},
    {"hidden_act", "model.bert.activation", kActivation, "GELU_ERF"},
    {"initializer_range", "model.bert.initial_std", kNumber, "0.02"},
    {"hidden_dropout_prob", "dropout", kNumber, "0.1"},
    {"attention_probs_dropout_prob", "attention.dropout", kNumber, "0.1"},
};

constexpr FixedKey kBertFixed[] = {{"position_embedding_type", "\"absolute\""},
                                   {"type_vocab_size", "2"},
                                   {"is_decoder", "false"},
                                   {"tie_word_embeddings", "true", true}};

}  // namespace

const ModelType kBertType = {"bert", "bert", kBert, kBertFixed};

}  // namespace inlier
