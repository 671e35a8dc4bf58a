#include "core/labelled/classification_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/status.h"
#include "core/data/example_order.h"
#include "core/text/special_tokens.h"
#include "core/text/token_cache.h"
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

// Where to write a row's ids, types and mask.
struct RowWriter {
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

}  // namespace

struct ClassificationDataset::State {
  explicit State(TokenCache opened) : cache(std::move(opened)) {}

  std::int64_t validation_rows() const { return rows - train_rows; }
  void WriteRow(std::int64_t row, RowWriter writer) const;
  // `first` is added to every one of `chosen`.
  Batch MakeBatch(std::int64_t first, const std::vector<std::int64_t>& chosen) const;

  TokenCache cache;
  SpecialTokens special_tokens;
  bool pairs = false;
  std::int64_t sequence_length = 0;
  std::int64_t rows = 0;
  std::int64_t train_rows = 0;
  std::vector<std::string> class_names;
  std::vector<std::int64_t> classes;
  std::vector<float> numbers;
  double majority_share = 0;
  std::string digest;
};

void ClassificationDataset::State::WriteRow(std::int64_t row, RowWriter writer) const {
  const auto text = static_cast<std::uint64_t>(row) * (pairs ? 2 : 1);
  std::int64_t room = sequence_length - (pairs ? 3 : 2);
  std::int64_t first = cache.TextLength(text), second = pairs ? cache.TextLength(text + 1) : 0;
  while (first + second > room) --(first > second ? first : second);
  writer.Add(special_tokens.begin, 0);
  writer.Add(cache, text, first, 0);
  writer.Add(*special_tokens.end, 0);
  if (!pairs) return;
  writer.Add(cache, text + 1, second, 1);
  writer.Add(*special_tokens.end, 1);
}

Batch ClassificationDataset::State::MakeBatch(std::int64_t first,
                                              const std::vector<std::int64_t>& chosen) const {
  const auto count = static_cast<std::int64_t>(chosen.size());
  Batch batch;
  batch.ids = torch::full({count, sequence_length}, special_tokens.pad, torch::kInt64);
  batch.attention_mask = torch::zeros({count, sequence_length}, torch::kInt64);
  if (pairs) batch.token_type_ids = torch::zeros({count, sequence_length}, torch::kInt64);
  batch.labels = torch::empty({count}, numbers.empty() ? torch::kInt64 : torch::kFloat32);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = first + chosen[i], begin = i * sequence_length;
    WriteRow(row, {.ids = batch.ids.data_ptr<std::int64_t>() + begin,
                   .mask = batch.attention_mask.data_ptr<std::int64_t>() + begin,
                   .types = pairs ? batch.token_type_ids.data_ptr<std::int64_t>() + begin : nullptr});
    if (numbers.empty()) {
      batch.labels.data_ptr<std::int64_t>()[i] = classes[row];
    } else {
      batch.labels.data_ptr<float>()[i] = numbers[row];
    }
  }
  return batch;
}

ClassificationDataset::ClassificationDataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
ClassificationDataset::~ClassificationDataset() = default;

absl::StatusOr<std::unique_ptr<ClassificationDataset>> ClassificationDataset::Open(
    const v1::ClassificationDataSpec& spec, const TextOpenOptions& options) {
  ASSIGN_OR_RETURN(ClassificationSource source,
                   ReadClassificationSource(spec, options.data_dir, options.roots));
  ASSIGN_OR_RETURN(const TokenizerSource tokenizer,
                   TokenizerSourceOf(spec.tokenizer(), kClassificationTokenizer, options));
  const bool pairs = spec.has_pair_column();
  ASSIGN_OR_RETURN(TokenCache cache, TokenCache::OpenOrMake(TextsOf(source, pairs), tokenizer, options));

  auto state = std::make_unique<State>(std::move(cache));
  ASSIGN_OR_RETURN(state->special_tokens,
                   SpecialTokensOf(state->cache.tokenizer(), v1::MLM, kClassificationTokenizer));
  state->pairs = pairs;
  state->sequence_length = spec.sequence_length();
  state->rows = static_cast<std::int64_t>(source.rows.size());
  state->train_rows = static_cast<std::int64_t>(source.train_rows);
  state->majority_share = source.majority_share;
  state->digest = Sha256Hex(
      absl::StrFormat("inlier classification dataset 1\ntokens %s\nT %d\npairs %d\nlabels %s\n",
                      state->cache.digest(), state->sequence_length, pairs ? 1 : 0, LabelsDigest(source)));
  state->class_names = std::move(source.class_names);
  state->classes = std::move(source.classes);
  state->numbers = std::move(source.numbers);
  return std::unique_ptr<ClassificationDataset>(new ClassificationDataset(std::move(state)));
}

std::int64_t ClassificationDataset::classes() const {
  return state_->numbers.empty() ? static_cast<std::int64_t>(state_->class_names.size()) : 1;
}
const std::vector<std::string>& ClassificationDataset::class_names() const { return state_->class_names; }
const Tokenizer& ClassificationDataset::tokenizer() const { return state_->cache.tokenizer(); }
std::int64_t ClassificationDataset::vocab_size() const { return state_->cache.tokenizer().size(); }
double ClassificationDataset::majority_share() const { return state_->majority_share; }
const std::string& ClassificationDataset::dataset_digest() const { return state_->digest; }
std::int64_t ClassificationDataset::train_examples() const { return state_->train_rows; }
std::int64_t ClassificationDataset::validation_examples() const { return state_->validation_rows(); }
std::int64_t ClassificationDataset::sequence_length() const { return state_->sequence_length; }

Batch ClassificationDataset::TrainBatch(std::uint64_t seed, std::uint64_t index,
                                        std::int64_t batch_size) const {
  return state_->MakeBatch(0, TrainExamples(train_examples(), seed, index, batch_size));
}

Batch ClassificationDataset::ValidationBatch(std::int64_t index, std::int64_t batch_size,
                                             std::uint64_t) const {
  return state_->MakeBatch(state_->train_rows, ValidationExamples(validation_examples(), index, batch_size));
}

Batch ClassificationDataset::CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                                              std::uint64_t seed) const {
  const bool train = split == v1::TRAIN;
  const std::int64_t size = train ? train_examples() : validation_examples();
  return state_->MakeBatch(train ? 0 : state_->train_rows,
                           CalibrationExamples(size, /*drawn=*/train, seed, index, batch_size));
}

}  // namespace inlier
