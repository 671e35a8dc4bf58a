// Prompts with the answer to each, for causal models: only the answer is predicted.
//
// A file of records (base/data/record_form.h). A fixed template surrounds the prompt, without its middle part where there is no input; prompt and answer are encoded separately:
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
#ifndef INLIER_CORE_LABELLED_INSTRUCTION_DATASET_H_
#define INLIER_CORE_LABELLED_INSTRUCTION_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/ordered_dataset.h"
#include "core/text/corpus.h"
#include "core/text/special_tokens.h"
#include "core/text/token_cache.h"
#include "core/text/tokenizer.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

class InstructionDataset final : public OrderedDataset {
 public:
  // `spec` is resolved. NotFound: no such file or vocabulary. InvalidArgument: a line that is not a JSON object
  // or lacks a field (with file and line), fewer than two pairs, a part whose prompts all fill T, a tokenizer
  // without a token that separates texts.
  static absl::StatusOr<std::unique_ptr<InstructionDataset>> Open(const v1::InstructionDataSpec& spec,
                                                                  const TextOpenOptions& options);

  // Tokens in the vocabulary, special ones included.
  std::int64_t vocab_size() const { return tokenizer().size(); }
  const Tokenizer& tokenizer() const { return cache_.tokenizer(); }
  // Pairs of both parts whose prompt alone fills a sequence.
  std::int64_t left_out() const { return left_out_; }

  const std::string& dataset_digest() const override { return digest_; }
  std::int64_t train_examples() const override { return static_cast<std::int64_t>(train_.size()); }
  std::int64_t validation_examples() const override { return static_cast<std::int64_t>(validation_.size()); }
  std::int64_t sequence_length() const override { return sequence_length_; }

 private:
  explicit InstructionDataset(TokenCache cache) : cache_(std::move(cache)) {}
  // Pairs [first, end) whose prompt leaves space for an answer.
  std::vector<std::int64_t> Fitting(std::int64_t first, std::int64_t end) const;
  // ids, labels and attention_mask, each (B, T) int64.
  Batch MakeBatch(const Place& place, const std::vector<std::int64_t>& examples) const override;

  const TokenCache cache_;
  SpecialTokens special_tokens_;
  std::int64_t sequence_length_ = 0;
  std::int64_t left_out_ = 0;
  std::vector<std::int64_t> train_, validation_;  // Numbers of the pairs in the file.
  std::string digest_;
};

}  // namespace inlier

#endif  // INLIER_CORE_LABELLED_INSTRUCTION_DATASET_H_
