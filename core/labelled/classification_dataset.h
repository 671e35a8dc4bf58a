// Sentences, or pairs of them, with a class or a number each: tab-separated files in GLUE's form.
//
//   [CLS] a [SEP] <pad>…             token types 0
//   [CLS] a [SEP] b [SEP] <pad>…     token types 1 for b and the [SEP] after it
//
// Every example has T tokens: a pair that is too long loses the last token of the longer sentence until it
// fits (of b where they are equal; Devlin et al. 2019), a single sentence is cut at its end, and short ones
// are padded on the right. attention_mask is always defined.
//
// Rows come from one file, part of them kept for validation by a hash of the (first) text, so that the same
// text is never on both sides, and read in the order of the hashes, so that the first ones are a fair sample;
// or from a folder with a file for each part. Columns are named by their headings, or by their numbers from
// 1, and then the first line is a row too (GLUE's CoLA). There is no quoting: a quotation mark is text.
// Tokens are kept in the cache (token_cache.h), and a vocabulary trained here uses the training rows only.
#ifndef INLIER_CORE_LABELLED_CLASSIFICATION_DATASET_H_
#define INLIER_CORE_LABELLED_CLASSIFICATION_DATASET_H_

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

class ClassificationDataset final : public OrderedDataset {
 public:
  // `spec` is resolved (every default filled in). NotFound: no such file or vocabulary. InvalidArgument names
  // file and line: a missing column, a row with too few of them, a label that is missing, that is not a number
  // (target NUMBER) or that only the validation part has, bytes that are not UTF-8; a part without rows;
  // fewer than two classes; a tokenizer without [CLS].
  static absl::StatusOr<std::unique_ptr<ClassificationDataset>> Open(const v1::ClassificationDataSpec& spec,
                                                                     const TextOpenOptions& options);

  // The model's outputs: the number of classes; 1 for NUMBER.
  std::int64_t classes() const {
    return numbers_.empty() ? static_cast<std::int64_t>(class_names_.size()) : 1;
  }
  // The classes' names in the order of their labels: sorted by bytes. Empty for NUMBER.
  const std::vector<std::string>& class_names() const { return class_names_; }
  // Tokens in the vocabulary, special ones included.
  std::int64_t vocab_size() const { return tokenizer().size(); }
  const Tokenizer& tokenizer() const { return cache_.tokenizer(); }
  // The accuracy on validation of the training part's most frequent class (the first of equals); 0 for NUMBER.
  double majority_share() const { return majority_share_; }

  const std::string& dataset_digest() const override { return digest_; }
  std::int64_t train_examples() const override { return train_rows_; }
  std::int64_t validation_examples() const override { return rows_ - train_rows_; }
  std::int64_t sequence_length() const override { return sequence_length_; }

 private:
  struct RowWriter;

  explicit ClassificationDataset(TokenCache cache) : cache_(std::move(cache)) {}
  void WriteRow(std::int64_t row, RowWriter writer) const;
  // ids, attention_mask, labels ((B) int64; NUMBER: (B) float32), and where there are pairs token_type_ids.
  Batch MakeBatch(const Place& place, const std::vector<std::int64_t>& examples) const override;

  const TokenCache cache_;
  SpecialTokens special_tokens_;
  bool pairs_ = false;
  std::int64_t sequence_length_ = 0;
  std::int64_t rows_ = 0, train_rows_ = 0;
  std::vector<std::string> class_names_;
  std::vector<std::int64_t> classes_;
  std::vector<float> numbers_;
  double majority_share_ = 0;
  std::string digest_;
};

}  // namespace inlier

#endif  // INLIER_CORE_LABELLED_CLASSIFICATION_DATASET_H_
