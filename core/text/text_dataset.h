// A corpus ready for training: tokenised once, cut into sequences of T tokens, which are the examples
// (dataset.h).
//
// Texts are the corpus' non-empty lines (corpus.h). A share validation_fraction of them, chosen by a hash of
// the text or the last ones, is the validation part and is never packed with, nor seen by the vocabulary of,
// the training part. Each text gets its special tokens (for example [CLS] text [SEP] for MLM, </s> text for CLM),
// groups of 1000 texts are concatenated and cut into sequences of T, and the rest of a group is dropped (see
// packing.h); with begin_every_sequence the token that begins a text is the first of every sequence too.
//
// Thread safety: const methods may be called from any threads at once.
#ifndef INLIER_CORE_TEXT_TEXT_DATASET_H_
#define INLIER_CORE_TEXT_TEXT_DATASET_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/data/dataset.h"
#include "core/text/corpus.h"
#include "core/text/special_tokens.h"
#include "core/text/tokenizer.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

class TextDataset : public Dataset {
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

  ~TextDataset() override;

  // Tokens in the vocabulary, special ones included. A vocabulary trained here has at most the size in the
  // spec; fewer when the corpus is so small that no pair of tokens occurs twice any more.
  int64_t vocab_size() const;
  const Tokenizer& tokenizer() const;  // As long as the dataset.
  int64_t sequence_length() const override;
  v1::Objective objective() const;

  int64_t train_examples() const override;
  int64_t validation_examples() const override;

  // The corpus' content, the tokenizer, the split, T and the objective.
  const std::string& dataset_digest() const override;

  // Special tokens around and in place of this dataset's tokens; `pad` fills short sequences.
  const SpecialTokens& special_tokens() const;

  // Masks of validation depend on `mask_seed` and on the sequence only.
  Batch TrainBatch(uint64_t seed, uint64_t index, int64_t batch_size) const override;
  Batch ValidationBatch(int64_t index, int64_t batch_size, uint64_t mask_seed) const override;
  Batch CalibrationBatch(v1::Split split, int64_t index, int64_t batch_size, uint64_t seed) const override;

  // exp of the entropy of the token shares of what validation predicts, the best that a model without context
  // can reach. MLM: every non-special token; CLM: all but the first token of each sequence. Reads the
  // validation part only.
  double ComputeUnigramPerplexity() const;

  // The text of ids for display, special tokens spelt out.
  std::string Decode(const torch::Tensor& ids) const;

 private:
  struct State;
  explicit TextDataset(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TEXT_DATASET_H_
