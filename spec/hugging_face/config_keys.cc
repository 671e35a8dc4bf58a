#include "spec/hugging_face/config_keys.h"

#include <algorithm>

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

constexpr FieldKey kLlama[] = {
    {"num_hidden_layers", "model.llama.layers", kSize},
    {"hidden_size", "model.llama.hidden_size", kSize},
    {"num_attention_heads", "model.llama.heads", kSize},
    {"num_key_value_heads", "model.llama.kv_heads", kSize, "", "model.llama.heads"},
    {"intermediate_size", "model.llama.ffn_size", kSize},
    {"vocab_size", "model.llama.vocab_size", kSize},
    {"max_position_embeddings", "model.llama.max_positions", kSize},
    {"rms_norm_eps", "model.llama.norm_epsilon", kNumber, "1e-6"},
    {"rope_theta", "model.llama.rotary_theta", kNumber, "10000"},
    {"hidden_act", "model.llama.activation", kActivation, "SILU"},
    {"initializer_range", "model.llama.initial_std", kNumber, "0.02"},
    {"tie_word_embeddings", "model.llama.tied_head", kFlag, "false"},
    {"attention_bias", "model.llama.biases", kFlag, "false"},
    {"attention_dropout", "attention.dropout", kNumber, "0"},
};

constexpr FieldKey kVit[] = {
    {"num_hidden_layers", "model.vit.layers", kSize},
    {"hidden_size", "model.vit.hidden_size", kSize},
    {"num_attention_heads", "model.vit.heads", kSize},
    {"intermediate_size", "model.vit.ffn_size", kSize},
    {"image_size", "model.vit.image_size", kSize, "224"},
    {"patch_size", "model.vit.patch_size", kSize, "16"},
    {"num_channels", "model.vit.channels", kSize, "3"},
    {"layer_norm_eps", "model.vit.norm_epsilon", kNumber, "1e-12"},
    {"hidden_act", "model.vit.activation", kActivation, "GELU_ERF"},
    {"initializer_range", "model.vit.initial_std", kNumber, "0.02"},
    {"hidden_dropout_prob", "dropout", kNumber, "0"},
    {"attention_probs_dropout_prob", "attention.dropout", kNumber, "0"},
};

// transformers_weights: the file of the weights, by its name.
constexpr FixedKey kCommonFixed[] = {{"is_encoder_decoder", "false"},
                                     {"add_cross_attention", "false"},
                                     {"pruned_heads", "{}"},
                                     {"transformers_weights", "null"}};

constexpr FixedKey kBertFixed[] = {{"position_embedding_type", "\"absolute\""},
                                   {"type_vocab_size", "2"},
                                   {"is_decoder", "false"},
                                   {"tie_word_embeddings", "true", true}};
constexpr FixedKey kOptFixed[] = {{"enable_bias", "true"},
                                  {"layer_norm_elementwise_affine", "true"},
                                  {"_remove_final_layer_norm", "false"},
                                  {"is_causal", "true"},
                                  {"tie_word_embeddings", "true", true}};
constexpr FixedKey kGpt2Fixed[] = {
    {"scale_attn_weights", "true"}, {"scale_attn_by_inverse_layer_idx", "false"}, {"is_causal", "true"}};
constexpr FixedKey kLlamaFixed[] = {{"partial_rotary_factor", "1"},
                                    {"sliding_window", "null"},
                                    {"attention_chunk_size", "null"},
                                    {"is_causal", "true"}};
constexpr FixedKey kVitFixed[] = {{"qkv_bias", "true"}};

constexpr std::string_view kChangeNothing[] = {
    // Names and versions.
    "_commit_hash", "_name_or_path", "architectures", "auto_map", "finetuning_task", "model_type",
    "name_or_path", "tokenizer_class", "transformers_version",
    // How tensors are kept and computed, with the same result in float32.
    "_attn_implementation", "_attn_implementation_autoset", "attn_implementation", "chunk_size_feed_forward",
    "dtype", "pretraining_tp", "reorder_and_upcast_attn", "torch_dtype", "torchscript", "use_bfloat16",
    "use_cache",
    // The form of the output.
    "output_attentions", "output_hidden_states", "return_dict",
    // Training alone.
    "embd_pdrop", "gradient_checkpointing", "layerdrop", "tf_legacy_loss", "tie_encoder_decoder",
    // Special tokens and generation; a text is encoded by the tokenizer's files.
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id", "diversity_penalty",
    "do_sample", "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id",
    "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id", "length_penalty",
    "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_scores", "pad_token_id", "prefix", "remove_invalid_values",
    "repetition_penalty", "return_dict_in_generate", "sep_token_id", "suppress_tokens",
    "task_specific_params", "temperature", "top_k", "top_p", "typical_p",
    // Heads for other purposes, and halves of other models.
    "classifier_dropout", "cross_attention_hidden_size", "is_decoder", "encoder_stride", "hidden_dropout",
    "id2label", "label2id", "num_labels", "pooler_act", "pooler_output_size", "problem_type",
    "summary_activation", "summary_first_dropout", "summary_last_dropout", "summary_proj_to_labels",
    "summary_type", "summary_use_proj"};

}  // namespace

std::span<const FieldKey> FieldKeysOf(std::string_view architecture) {
  if (architecture == "bert") return kBert;
  if (architecture == "opt") return kOpt;
  if (architecture == "gpt2") return kGpt2;
  if (architecture == "llama") return kLlama;
  if (architecture == "vit") return kVit;
  return {};
}

std::span<const FixedKey> CommonFixedKeys() { return kCommonFixed; }

std::span<const FixedKey> FixedKeysOf(std::string_view architecture) {
  if (architecture == "bert") return kBertFixed;
  if (architecture == "opt") return kOptFixed;
  if (architecture == "gpt2") return kGpt2Fixed;
  if (architecture == "llama") return kLlamaFixed;
  if (architecture == "vit") return kVitFixed;
  return {};
}

std::string_view KeyOfField(std::string_view architecture, std::string_view field) {
  for (const FieldKey& key : FieldKeysOf(architecture)) {
    if (field == key.field) return key.key;
  }
  return {};
}

bool ChangesNothing(std::string_view key) {
  return std::find(std::begin(kChangeNothing), std::end(kChangeNothing), key) != std::end(kChangeNothing);
}

}  // namespace inlier
