// A corpus ready for training: tokenised once, cut into sequences of T tokens, served as batches that depend
// on nothing but their number.
//
// Every batch is a pure function of (corpus, settings, seed, number): a resumed training asks for the next
// number and meets exactly the batches it would have met. Masks are drawn per sequence, so neither the batch
// size nor gradient accumulation changes them.
//
// Texts are the corpus' non-empty lines (corpus.h). The last validation_fraction of them are the validation
// part and are never packed with, nor seen by the vocabulary of, the training part. Each text gets its
// special tokens (for example [CLS] text [SEP] for MLM, </s> text for CLM), groups of 1000 texts are
// concatenated and cut into sequences of T, and the rest of a group is dropped (see packing.h).
//
// Thread safety: const methods may be called from any threads at once.
#ifndef INLIER_CORE_DATA_TEXT_DATASET_H_
#define INLIER_CORE_DATA_TEXT_DATASET_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/data/batch.h"
#include "core/data/corpus.h"
#include "core/data/special_tokens.h"
#include "inlier/v1/quantization_spec.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// exp of a mean of -ln p over the validation part's target tokens, p from token counts alone: what a model
// that looks at no context can reach.
struct UnigramPerplexity {
  double own = 0;         // p counted on those very tokens: the bound usually meant by "unigram perplexity".
  double from_train = 0;  // p counted on the training part, one added to each count.
};

class TextDataset {
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

  ~TextDataset();
  TextDataset(const TextDataset&) = delete;
  TextDataset& operator=(const TextDataset&) = delete;

  // Tokens in the vocabulary, special ones included. Of a vocabulary trained here at most what the spec asks
  // for; less when the corpus is so small that no pair of tokens occurs twice any more.
  int64_t vocab_size() const;
  int64_t sequence_length() const;
  v1::Objective objective() const;

  int64_t train_sequences() const;
  int64_t validation_sequences() const;

  // Names the sequences: the corpus' content, the tokenizer, the split, T and the objective.
  const std::string& dataset_digest() const;

  // What is put around and in place of this dataset's tokens; its pad fills short sequences.
  const SpecialTokens& special_tokens() const;
  int64_t pad_id() const { return special_tokens().pad; }

  // The micro-batch number `index` of training. All micro-batches are full: sequences are read epoch after
  // epoch, each epoch in an order of its own drawn from (seed, epoch), and a batch may lie across the end of
  // one.
  Batch TrainBatch(uint64_t seed, uint64_t index, int64_t batch_size) const;

  int64_t ValidationBatches(int64_t batch_size) const;

  // Validation sequences in their order; the last batch may be smaller. Masks depend on `mask_seed` and on
  // the sequence only. REQUIRES: index < ValidationBatches(batch_size).
  Batch ValidationBatch(int64_t index, int64_t batch_size, uint64_t mask_seed) const;

  // What range estimators see: TRAIN: sequences drawn without repetition by `seed`; VALIDATION: the first
  // ones in order. Past the end of the split it starts again; all batches are full.
  Batch CalibrationBatch(v1::Split split, int64_t index, int64_t batch_size, uint64_t seed) const;

  // Over the tokens that validation predicts: MLM: every non-special token; CLM: all but the first token of
  // each sequence.
  UnigramPerplexity ComputeUnigramPerplexity() const;

  // The text of ids for people, special tokens spelt out.
  std::string Decode(const torch::Tensor& ids) const;

 private:
  struct State;
  explicit TextDataset(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_TEXT_DATASET_H_
