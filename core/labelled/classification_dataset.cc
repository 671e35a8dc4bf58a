#include "core/labelled/classification_dataset.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/status.h"
#include "core/text/tokenizer_of_spec.h"
#include "spec/data/classification_source.h"
#include "torch/types.h"

namespace inlier {
namespace {

constexpr char kClassificationTokenizer[] = "data.classification.tokenizer";

// The rows' texts in the cache's order: those of a pair are consecutive.
PartedTexts TextsOf(const ClassificationSource& source, bool pairs) {
  PartedTexts texts;
  texts.train_texts = source.train_rows * (pairs ? 2 : 1);
  for (const LabelledRow& row : source.rows) {
    texts.texts.push_back(row.text);
    if (pairs) texts.texts.push_back(row.pair);
  }
  return texts;
}

std::string LabelsDigest(const ClassificationSource& source) {
  Sha256 sha;
  for (const std::string& name : source.class_names) sha.Update(absl::StrCat(name, "\n"));
  for (const std::int64_t label : source.classes) sha.Update(absl::StrCat(label, "\n"));
  for (const float number : source.numbers) sha.Update(absl::StrFormat("%.9g\n", number));
  return sha.HexDigest();
}

}  // namespace

// Where to write a row's ids, types and mask.
struct ClassificationDataset::RowWriter {
  std::int64_t* ids;
  std::int64_t* mask;
  std::int64_t* types;  // Null without pairs.
  std::int64_t length = 0;

  void Add(std::int64_t id, std::int64_t type) {
    ids[length] = id;
    Mark(1, type);
  }
  // `text` of the cache, cut to its first `kept` ids.
  void Add(const TokenCache& cache, std::uint64_t text, std::int64_t kept, std::int64_t type) {
    cache.Read(cache.text_begins()[text], {ids + length, static_cast<std::size_t>(kept)});
    Mark(kept, type);
  }

 private:
  void Mark(std::int64_t count, std::int64_t type) {
    std::fill_n(mask + length, count, 1);
    if (types != nullptr) std::fill_n(types + length, count, type);
    length += count;
  }
};

void ClassificationDataset::WriteRow(std::int64_t row, RowWriter writer) const {
  const auto text = static_cast<std::uint64_t>(row) * (pairs_ ? 2 : 1);
  const std::int64_t room = sequence_length_ - (pairs_ ? 3 : 2);
  std::int64_t first = cache_.TextLength(text), second = pairs_ ? cache_.TextLength(text + 1) : 0;
  while (first + second > room) --(first > second ? first : second);
  writer.Add(special_tokens_.begin, 0);
  writer.Add(cache_, text, first, 0);
  writer.Add(*special_tokens_.end, 0);
  if (!pairs_) return;
  writer.Add(cache_, text + 1, second, 1);
  writer.Add(*special_tokens_.end, 1);
}

Batch ClassificationDataset::MakeBatch(const Place& place, const std::vector<std::int64_t>& examples) const {
  const auto count = static_cast<std::int64_t>(examples.size());
  Batch batch;
  batch.ids = torch::full({count, sequence_length_}, special_tokens_.pad, torch::kInt64);
  batch.attention_mask = torch::zeros({count, sequence_length_}, torch::kInt64);
  if (pairs_) batch.token_type_ids = torch::zeros({count, sequence_length_}, torch::kInt64);
  batch.labels = torch::empty({count}, numbers_.empty() ? torch::kInt64 : torch::kFloat32);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = examples[i] + (place.train ? 0 : train_rows_), begin = i * sequence_length_;
    WriteRow(row, {.ids = batch.ids.data_ptr<std::int64_t>() + begin,
                   .mask = batch.attention_mask.data_ptr<std::int64_t>() + begin,
                   .types = pairs_ ? batch.token_type_ids.data_ptr<std::int64_t>() + begin : nullptr});
    if (numbers_.empty()) {
      batch.labels.data_ptr<std::int64_t>()[i] = classes_[row];
    } else {
      batch.labels.data_ptr<float>()[i] = numbers_[row];
    }
  }
  return batch;
}

absl::StatusOr<std::unique_ptr<ClassificationDataset>> ClassificationDataset::Open(
    const v1::ClassificationDataSpec& spec, const TextOpenOptions& options) {
  ASSIGN_OR_RETURN(ClassificationSource source,
                   ReadClassificationSource(spec, options.data_dir, options.roots));
  ASSIGN_OR_RETURN(const TokenizerSource tokenizer,
                   TokenizerSourceOf(spec.tokenizer(), kClassificationTokenizer, options));
  const bool pairs = spec.has_pair_column();
  ASSIGN_OR_RETURN(TokenCache cache, TokenCache::OpenOrMake(TextsOf(source, pairs), tokenizer, options));

  std::unique_ptr<ClassificationDataset> made(new ClassificationDataset(std::move(cache)));
  ASSIGN_OR_RETURN(made->special_tokens_,
                   SpecialTokensOf(made->tokenizer(), v1::MLM, kClassificationTokenizer));
  made->pairs_ = pairs;
  made->sequence_length_ = spec.sequence_length();
  made->rows_ = static_cast<std::int64_t>(source.rows.size());
  made->train_rows_ = static_cast<std::int64_t>(source.train_rows);
  made->majority_share_ = source.majority_share;
  made->digest_ = Sha256Hex(
      absl::StrFormat("inlier classification dataset 1\ntokens %s\nT %d\npairs %d\nlabels %s\n",
                      made->cache_.digest(), made->sequence_length_, pairs ? 1 : 0, LabelsDigest(source)));
  made->class_names_ = std::move(source.class_names);
  made->classes_ = std::move(source.classes);
  made->numbers_ = std::move(source.numbers);
  return made;
}

}  // namespace inlier
