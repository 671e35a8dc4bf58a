#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kOpt[] = {
    {"num_hidden_layers", "model.opt.layers", kSize},
    {"hidden_size", "model.opt.hidden_size", kSize},
    {"num_attention_heads", "model.opt.heads", kSize},
    {"ffn_dim", "model.opt.ffn_size", kSize},
    {"vocab_size", "model.opt.vocab_size", kSize},
    {"max_position_embeddings", "model.opt.max_positions", kSize},
    {"word_embed_proj_dim", "model.opt.embedding_size", kSize, "", "model.opt.hidden_size"},
    {"activation_function", "model.opt.activation", kActivation, "RELU"},
    {"do_layer_norm_before", "model.opt.norm_placement", kNormFirst, "PRE"},
    {"init_std", "model.opt.initial_std", kNumber, "0.02"},
    {"dropout", "dropout", kNumber, "0.1"},
    {"attention_dropout", "attention.dropout", kNumber, "0"},
};

constexpr FixedKey kOptFixed[] = {{"enable_bias", "true"},
                                  {"layer_norm_elementwise_affine", "true"},
                                  {"_remove_final_layer_norm", "false"},
                                  {"is_causal", "true"},
                                  {"tie_word_embeddings", "true", true}};

}  // namespace

const ModelType kOptType = {"opt", "opt", kOpt, kOptFixed};

}  // namespace inlier
