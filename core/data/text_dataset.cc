#include "core/data/text_dataset.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/status.h"
#include "core/data/masking.h"
#include "core/data/packing.h"
#include "core/data/random_stream.h"
#include "core/data/special_tokens.h"
#include "core/data/token_cache.h"
#include "torch/types.h"

namespace inlier {
namespace {

// The sequences of one part of the corpus.
PackedTexts Pack(const TokenCache& cache, uint64_t first_text, uint64_t end_text, v1::Objective objective,
                 int64_t sequence_length) {
  PackedTexts::Options options;
  options.sequence_length = sequence_length;
  if (objective == v1::MLM) {
    options.short_group = ShortGroup::kKeep;
    options.before_text = {kClsId};
    options.after_text = {kSepId};
  } else {
    options.short_group = ShortGroup::kDrop;
    options.before_text = {kSeparatorId};
  }
  return PackedTexts(std::move(options), cache.text_begins().subspan(first_text, end_text - first_text + 1),
                     [&cache](uint64_t begin, std::span<int64_t> ids) { cache.Read(begin, ids); });
}

}  // namespace

struct TextDataset::State {
  explicit State(TokenCache token_cache) : cache(std::move(token_cache)) {}

  // `sequences` of a part, with the masks of stream (mask_seed, mask_name, mask_numbers[i]).
  Batch MakeBatch(const PackedTexts& part, const std::vector<int64_t>& sequences, uint64_t mask_seed,
                  std::string_view mask_name, const std::vector<uint64_t>& mask_numbers) const;

  // Calls with every id that the part's sequences predict.
  template <typename Visit>
  void VisitTargets(const PackedTexts& part, Visit visit) const;

  TokenCache cache;
  v1::Objective objective = v1::MLM;
  int64_t sequence_length = 0;
  double mask_probability = 0;
  std::string digest;
  std::optional<PackedTexts> train;
  std::optional<PackedTexts> validation;
};

Batch TextDataset::State::MakeBatch(const PackedTexts& part, const std::vector<int64_t>& sequences,
                                    uint64_t mask_seed, std::string_view mask_name,
                                    const std::vector<uint64_t>& mask_numbers) const {
  const auto rows = static_cast<int64_t>(sequences.size());
  const int64_t pad = objective == v1::MLM ? kBertPadId : kOptPadId;
  Batch batch;
  batch.ids = torch::full({rows, sequence_length}, pad, torch::kInt64);
  batch.labels = torch::full({rows, sequence_length}, kNoTarget, torch::kInt64);
  std::vector<uint8_t> special(sequence_length);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t length = part.LengthOf(sequences[row]);
    const std::span ids(batch.ids.data_ptr<int64_t>() + row * sequence_length, length);
    const std::span labels(batch.labels.data_ptr<int64_t>() + row * sequence_length, length);
    part.Read(sequences[row], ids, std::span(special).first(length));
    if (objective == v1::MLM) {
      RandomStream stream(mask_seed, mask_name, mask_numbers[row]);
      DrawMask({.probability = mask_probability, .mask_id = kMaskId, .vocab_size = cache.vocabulary().size()},
               std::span(special).first(length), stream, ids, labels);
    } else {
      std::copy(ids.begin(), ids.end(), labels.begin());
    }
    if (length < sequence_length) {
      if (!batch.attention_mask.defined())
        batch.attention_mask = torch::ones({rows, sequence_length}, torch::kInt64);
      int64_t* mask = batch.attention_mask.data_ptr<int64_t>() + row * sequence_length;
      std::fill(mask + length, mask + sequence_length, 0);
    }
  }
  return batch;
}

template <typename Visit>
void TextDataset::State::VisitTargets(const PackedTexts& part, Visit visit) const {
  std::vector<int64_t> ids(sequence_length);
  std::vector<uint8_t> special(sequence_length);
  for (int64_t sequence = 0; sequence < part.size(); ++sequence) {
    const int64_t length = part.LengthOf(sequence);
    part.Read(sequence, std::span(ids).first(length), std::span(special).first(length));
    for (int64_t i = objective == v1::CLM ? 1 : 0; i < length; ++i) {
      if (objective == v1::CLM || !special[i]) visit(ids[i]);
    }
  }
}

TextDataset::TextDataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextDataset::~TextDataset() = default;

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::Open(const v1::TextDataSpec& spec,
                                                               v1::Objective objective,
                                                               const TextOpenOptions& options) {
  std::filesystem::path file = spec.path();
  if (!spec.has_path()) {
    ASSIGN_OR_RETURN(file, FindCorpus(spec.corpus(), options.data_dir));
  } else if (std::error_code error; !std::filesystem::is_regular_file(file, error)) {
    return absl::NotFoundError(absl::StrCat("data.text.path: no file ", file.string(),
                                            " on this machine; name a UTF-8 text file with one text a line"));
  }
  TokenCacheSettings settings;
  settings.vocab_size = spec.tokenizer().byte_pair().vocab_size();
  settings.validation_fraction = spec.validation_fraction();
  if (settings.vocab_size < kSmallestVocabulary) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.text.tokenizer.byte_pair.vocab_size: ", settings.vocab_size, " is below ",
                     kSmallestVocabulary, ", the 256 bytes and the special tokens"));
  }
  ASSIGN_OR_RETURN(TokenCache cache, TokenCache::OpenOrMake(file, settings, options));

  auto state = std::make_unique<State>(std::move(cache));
  state->objective = objective;
  state->sequence_length = spec.sequence_length();
  state->mask_probability = spec.mask_probability();
  const uint64_t train_texts = state->cache.train_texts();
  state->train.emplace(Pack(state->cache, 0, train_texts, objective, state->sequence_length));
  state->validation.emplace(
      Pack(state->cache, train_texts, state->cache.texts(), objective, state->sequence_length));
  if (state->train->size() == 0 || state->validation->size() == 0) {
    const bool train = state->train->size() == 0;
    const uint64_t split = state->cache.text_begins()[train_texts];
    return absl::InvalidArgumentError(
        absl::StrCat("data.text: no sequence of ", state->sequence_length, " tokens fits the ",
                     train ? "training" : "validation", " part of ", file.string(), " (",
                     train ? split : state->cache.tokens() - split, " tokens); use more text, a smaller ",
                     "data.text.sequence_length", train ? "" : " or a larger data.text.validation_fraction"));
  }
  state->digest = Sha256Hex(absl::StrFormat("inlier text dataset 1\ntokens %s\nT %d\nobjective %s\n",
                                            state->cache.digest(), state->sequence_length,
                                            v1::Objective_Name(objective)));
  return std::unique_ptr<TextDataset>(new TextDataset(std::move(state)));
}

int64_t TextDataset::vocab_size() const { return state_->cache.vocabulary().size(); }
int64_t TextDataset::sequence_length() const { return state_->sequence_length; }
v1::Objective TextDataset::objective() const { return state_->objective; }
int64_t TextDataset::train_sequences() const { return state_->train->size(); }
int64_t TextDataset::validation_sequences() const { return state_->validation->size(); }
const std::string& TextDataset::dataset_digest() const { return state_->digest; }
int64_t TextDataset::pad_id() const { return state_->objective == v1::MLM ? kBertPadId : kOptPadId; }

Batch TextDataset::TrainBatch(uint64_t seed, uint64_t index, int64_t batch_size) const {
  INLIER_CHECK(batch_size > 0);
  const auto size = static_cast<uint64_t>(train_sequences());
  std::vector<int64_t> sequences;
  std::vector<uint64_t> numbers;
  std::optional<RandomOrder> order;
  for (int64_t row = 0; row < batch_size; ++row) {
    // The number of this sequence since training began.
    const uint64_t number = index * static_cast<uint64_t>(batch_size) + row;
    if (!order.has_value() || number % size == 0) order.emplace(size, seed, "epoch", number / size);
    sequences.push_back(static_cast<int64_t>(order->At(number % size)));
    numbers.push_back(number);
  }
  return state_->MakeBatch(*state_->train, sequences, seed, "mask", numbers);
}

int64_t TextDataset::ValidationBatches(int64_t batch_size) const {
  INLIER_CHECK(batch_size > 0);
  return (validation_sequences() + batch_size - 1) / batch_size;
}

Batch TextDataset::ValidationBatch(int64_t index, int64_t batch_size, uint64_t mask_seed) const {
  INLIER_CHECK(index >= 0 && index < ValidationBatches(batch_size));
  std::vector<int64_t> sequences;
  for (int64_t i = index * batch_size; i < std::min((index + 1) * batch_size, validation_sequences()); ++i) {
    sequences.push_back(i);
  }
  return state_->MakeBatch(*state_->validation, sequences, mask_seed, "validation mask",
                           std::vector<uint64_t>(sequences.begin(), sequences.end()));
}

Batch TextDataset::CalibrationBatch(v1::Split split, int64_t index, int64_t batch_size, uint64_t seed) const {
  INLIER_CHECK(index >= 0 && batch_size > 0);
  const PackedTexts& part = split == v1::TRAIN ? *state_->train : *state_->validation;
  const auto size = static_cast<uint64_t>(part.size());
  const RandomOrder order(size, seed, "calibration");
  std::vector<int64_t> sequences;
  std::vector<uint64_t> numbers;
  for (int64_t row = 0; row < batch_size; ++row) {
    const uint64_t number = static_cast<uint64_t>(index) * batch_size + row;
    sequences.push_back(static_cast<int64_t>(split == v1::TRAIN ? order.At(number % size) : number % size));
    numbers.push_back(number);
  }
  return state_->MakeBatch(part, sequences, seed, "calibration mask", numbers);
}

UnigramPerplexity TextDataset::ComputeUnigramPerplexity() const {
  const int64_t vocabulary = vocab_size();
  std::vector<double> own(vocabulary, 0), train(vocabulary, 0);
  double own_total = 0, train_total = 0;
  state_->VisitTargets(*state_->validation, [&](int64_t id) { ++own[id], ++own_total; });
  state_->VisitTargets(*state_->train, [&](int64_t id) { ++train[id], ++train_total; });
  double own_sum = 0, train_sum = 0;
  for (int64_t id = 0; id < vocabulary; ++id) {
    if (own[id] == 0) continue;
    own_sum -= own[id] * std::log(own[id] / own_total);
    train_sum -= own[id] * std::log((train[id] + 1) / (train_total + vocabulary));
  }
  return {.own = std::exp(own_sum / own_total), .from_train = std::exp(train_sum / own_total)};
}

std::string TextDataset::Decode(const torch::Tensor& ids) const {
  const torch::Tensor flat = ids.to(torch::kCPU, torch::kInt64).contiguous().view({-1});
  const std::vector<uint32_t> values(flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel());
  return ReplaceInvalidUtf8(state_->cache.vocabulary().Decode(values));
}

}  // namespace inlier
