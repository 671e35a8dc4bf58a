// Prompts with the answer to each, for causal models: only the answer is predicted.
//
// A .jsonl file, one object a line, or a file with an array of objects. A fixed template surrounds the prompt, without its middle part where
// there is no input; prompt and answer are encoded separately:
//
//   <begin> "Instruction:\n" prompt "\n\nInput:\n" input "\n\nAnswer:\n" | answer <end of text> <pad>…
//
// labels are -100 up to the bar and on the padding, and the ids themselves after the bar: the first token of
// the answer is predicted from the last one of the prompt. <begin> and <end of text> are the token that
// separates texts in pre-training. A pair of more than T tokens is cut at its end; a pair whose prompt leaves
// no space for a token of the answer is left out. Every example has T tokens, padded on the right.
//
// A share validation_fraction of the pairs is for validation, chosen by a hash of the framed prompt or the last
// ones; a vocabulary trained here uses the others only.
//
// Thread safety: const methods may be called from any threads at once.
#ifndef INLIER_CORE_LABELLED_INSTRUCTION_DATASET_H_
#define INLIER_CORE_LABELLED_INSTRUCTION_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/data/dataset.h"
#include "core/text/corpus.h"
#include "core/text/tokenizer.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

class InstructionDataset : public Dataset {
 public:
  // `spec` is resolved. NotFound: no such file or vocabulary. InvalidArgument: a line that is no JSON object
  // or lacks a field (with file and line), fewer than two pairs, a part whose prompts all fill T, a tokenizer
  // without a token that separates texts.
  static absl::StatusOr<std::unique_ptr<InstructionDataset>> Open(const v1::InstructionDataSpec& spec,
                                                                  const TextOpenOptions& options);
  ~InstructionDataset() override;

  // Tokens in the vocabulary, special ones included.
  std::int64_t vocab_size() const;
  const Tokenizer& tokenizer() const;  // As long as the dataset.
  // Pairs of both parts whose prompt alone fills a sequence.
  std::int64_t left_out() const;

  const std::string& dataset_digest() const override;
  std::int64_t train_examples() const override;
  std::int64_t validation_examples() const override;
  std::int64_t sequence_length() const override;

  // Batches: ids, labels and attention_mask, each (B, T) int64. `mask_seed` has no effect.
  Batch TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t batch_size) const override;
  Batch ValidationBatch(std::int64_t index, std::int64_t batch_size, std::uint64_t mask_seed) const override;
  Batch CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                         std::uint64_t seed) const override;

 private:
  struct State;
  explicit InstructionDataset(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace inlier

#endif  // INLIER_CORE_LABELLED_INSTRUCTION_DATASET_H_
