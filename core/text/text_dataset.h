// A corpus ready for training: tokenised once, cut into sequences of T tokens, which are the examples (dataset.h).
//
// Texts are the corpus' non-empty lines (corpus.h). A share validation_fraction of them, chosen by a hash of
// the text or the last ones, is the validation part and is never packed with, nor seen by the vocabulary of,
// the training part. Each text gets its special tokens (for example [CLS] text [SEP] for MLM, </s> text for CLM),
// groups of 1000 texts are concatenated and cut into sequences of T, and the rest of a group is dropped (see
// packing.h); with begin_every_sequence the token that begins a text is the first of every sequence too.
#ifndef INLIER_CORE_TEXT_TEXT_DATASET_H_
#define INLIER_CORE_TEXT_TEXT_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/ordered_dataset.h"
#include "core/text/corpus.h"
#include "core/text/packing.h"
#include "core/text/special_tokens.h"
#include "core/text/token_cache.h"
#include "core/text/tokenizer.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

class TextDataset final : public OrderedDataset {
 public:
  // Opens the corpus that `spec` names, making its vocabulary and token cache when they are not there yet;
  // processes that start together make them once. `spec` is resolved (every default filled in) and
  // `objective` is the spec's, or the model's own (MLM for BERT, CLM for OPT) when the spec has none.
  // NotFound: no such corpus or vocabulary. InvalidArgument: settings that cannot be met, such as a sequence
  // longer than the text or a tokenizer without the objective's special tokens.
  static absl::StatusOr<std::unique_ptr<TextDataset>> Open(const v1::TextDataSpec& spec,
                                                           v1::Objective objective,
                                                           const TextOpenOptions& options);
  // The same texts and parts cut into sequences of another length, for evaluation. InvalidArgument when none
  // fits a part; the message names evaluation.sequence_length.
  absl::StatusOr<std::unique_ptr<TextDataset>> WithSequenceLength(int64_t sequence_length) const;

  // Tokens in the vocabulary, special ones included. A vocabulary trained here has at most the size in the
  // spec; fewer when the corpus is so small that no pair of tokens occurs twice any more.
  int64_t vocab_size() const { return tokenizer().size(); }
  const Tokenizer& tokenizer() const { return cache_->tokenizer(); }
  int64_t sequence_length() const override { return cutting_.sequence_length; }

  // Of CLM, which predicts every token of the text.
  torch::Tensor token_bytes() const override;

  int64_t train_examples() const override { return train_->size(); }
  int64_t validation_examples() const override { return validation_->size(); }

  // The corpus' content, the tokenizer, the split, T and the objective.
  const std::string& dataset_digest() const override { return digest_; }

  // Special tokens around and in place of this dataset's tokens; `pad` fills short sequences.
  const SpecialTokens& special_tokens() const { return special_tokens_; }

  // exp of the entropy of the token shares of what validation predicts, the best that a model without context
  // can reach. MLM: every non-special token; CLM: all but the first token of each sequence. Reads the
  // validation part only.
  double ComputeUnigramPerplexity() const;

 private:
  // How the texts are cut and masked.
  struct Cutting {
    v1::Objective objective = v1::MLM;
    double mask_probability = 0;
    int64_t sequence_length = 0;
    bool begin_every_sequence = false;
  };

  TextDataset() = default;
  // Cuts the cache's texts. InvalidArgument, naming `length_field`, when a part has no sequence.
  static absl::StatusOr<std::unique_ptr<TextDataset>> Cut(std::shared_ptr<const TokenCache> cache,
                                                          std::string corpus, const Cutting& cutting,
                                                          std::string_view length_field);
  // The sequences of one part of the corpus.
  PackedTexts Pack(uint64_t first_text, uint64_t end_text) const;
  // A sequence's ids, and 1 where they are special tokens.
  void Read(const PackedTexts& part, int64_t sequence, std::span<int64_t> ids,
            std::span<uint8_t> special) const;
  // Masks of validation depend on the seed and on the sequence only.
  Batch MakeBatch(const Place& place, const std::vector<int64_t>& sequences) const override;

  std::shared_ptr<const TokenCache> cache_;
  std::string corpus_;  // For messages.
  Cutting cutting_;
  SpecialTokens special_tokens_;
  std::string digest_;
  std::optional<PackedTexts> train_, validation_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TEXT_DATASET_H_
