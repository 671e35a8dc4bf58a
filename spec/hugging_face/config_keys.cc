#include "spec/hugging_face/config_keys.h"

#include <algorithm>

namespace inlier {
namespace {

// transformers_weights: the file of the weights, by its name.
constexpr FixedKey kCommonFixed[] = {{"is_encoder_decoder", "false"},
                                     {"add_cross_attention", "false"},
                                     {"pruned_heads", "{}"},
                                     {"transformers_weights", "null"}};

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
    "do_sample", "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id", "cache_implementation",
    "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id", "length_penalty",
    "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_scores", "pad_token_id", "prefix", "remove_invalid_values",
    "repetition_penalty", "return_dict_in_generate", "sep_token_id", "suppress_tokens",
    "task_specific_params", "temperature", "top_k", "top_p", "typical_p",
    // Heads for other purposes, and halves of other models.
    "classifier_dropout", "cross_attention_hidden_size", "encoder_stride", "hidden_dropout", "id2label",
    "is_decoder", "label2id", "num_labels", "pooler_act", "pooler_output_size", "problem_type", "qa_dropout",
    "seq_classif_dropout", "summary_activation", "summary_first_dropout", "summary_last_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj"};

}  // namespace

std::span<const FixedKey> CommonFixedKeys() { return kCommonFixed; }

bool ChangesNothing(std::string_view key) {
  return std::find(std::begin(kChangeNothing), std::end(kChangeNothing), key) != std::end(kChangeNothing);
}

}  // namespace inlier
