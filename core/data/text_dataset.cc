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
#include "core/data/token_cache.h"
#include "torch/types.h"

namespace inlier {
namespace {

absl::StatusOr<TokenizerSource> TokenizerSourceOf(const v1::TokenizerSpec& tokenizer,
                                                  const std::filesystem::path& data_dir) {
  switch (tokenizer.kind_case()) {
    case v1::TokenizerSpec::kWordpiece:
      return FindWordPiece(tokenizer.wordpiece().vocab(), data_dir);
    case v1::TokenizerSpec::kGpt2:
      return FindGpt2(tokenizer.gpt2().vocab(), data_dir);
    case v1::TokenizerSpec::kBytePair:
    case v1::TokenizerSpec::KIND_NOT_SET:
      break;
  }
  const uint32_t vocab_size = tokenizer.byte_pair().vocab_size();
  if (vocab_size >= kSmallestVocabulary) return TrainedBytePair{vocab_size};
  return absl::InvalidArgumentError(absl::StrCat("data.text.tokenizer.byte_pair.vocab_size: ", vocab_size,
                                                 " is below ", kSmallestVocabulary,
                                                 ", the 256 bytes and the special tokens"));
}

absl::StatusOr<CorpusSource> CorpusSourceOf(const v1::TextDataSpec& spec,
                                            const std::filesystem::path& data_dir) {
  if (spec.has_path()) return CorpusSource{.path = spec.path(), .field = spec.field()};
  ASSIGN_OR_RETURN(std::filesystem::path file, FindCorpus(spec.corpus(), data_dir));
  return CorpusSource{.path = std::move(file), .must_be_utf8 = false};
}

absl::StatusOr<SpecialTokens> SpecialTokensOf(const Tokenizer& tokenizer, v1::Objective objective) {
  const std::optional<SpecialTokens> tokens =
      objective == v1::MLM ? tokenizer.masked_tokens() : tokenizer.causal_tokens();
  if (tokens.has_value()) return *tokens;
  return absl::InvalidArgumentError(absl::StrCat("data.text.tokenizer: it has no special tokens for ",
                                                 v1::Objective_Name(objective),
                                                 "; choose another tokenizer"));
}

// The sequences of one part of the corpus. The cache must outlive them.
PackedTexts Pack(const TokenCache& cache, uint64_t first_text, uint64_t end_text, v1::Objective objective,
                 const SpecialTokens& special, int64_t sequence_length) {
  PackedTexts::Options options;
  options.sequence_length = sequence_length;
  options.short_group = objective == v1::MLM ? ShortGroup::kKeep : ShortGroup::kDrop;
  options.before_text = {special.begin};
  if (special.end.has_value()) options.after_text = {*special.end};
  return PackedTexts(std::move(options), cache.text_begins().subspan(first_text, end_text - first_text + 1),
                     [&cache](uint64_t begin, std::span<int64_t> ids) { cache.Read(begin, ids); });
}

}  // namespace

struct TextDataset::State {
  // Cuts the cache's texts. InvalidArgument, naming `length_field`, when a part is left without a sequence.
  static absl::StatusOr<std::unique_ptr<TextDataset>> Cut(std::shared_ptr<const TokenCache> cache,
                                                          std::string corpus, v1::Objective objective,
                                                          double mask_probability, int64_t sequence_length,
                                                          std::string_view length_field);

  // A sequence's ids, and 1 where they are special tokens.
  void Read(const PackedTexts& part, int64_t sequence, std::span<int64_t> ids,
            std::span<uint8_t> special) const;

  // `sequences` of a part, with the masks of stream (mask_seed, mask_name, mask_numbers[i]).
  Batch MakeBatch(const PackedTexts& part, const std::vector<int64_t>& sequences, uint64_t mask_seed,
                  std::string_view mask_name, const std::vector<uint64_t>& mask_numbers) const;

  // Calls with every id that the part's sequences predict.
  template <typename Visit>
  void VisitTargets(const PackedTexts& part, Visit visit) const;

  std::shared_ptr<const TokenCache> cache;
  std::string corpus;  // For messages.
  v1::Objective objective = v1::MLM;
  SpecialTokens special_tokens;
  double mask_probability = 0;
  int64_t sequence_length = 0;
  std::string digest;
  std::optional<PackedTexts> train;
  std::optional<PackedTexts> validation;
};

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::State::Cut(
    std::shared_ptr<const TokenCache> cache, std::string corpus, v1::Objective objective,
    double mask_probability, int64_t sequence_length, std::string_view length_field) {
  auto state = std::make_unique<State>();
  state->cache = std::move(cache);
  state->corpus = std::move(corpus);
  state->objective = objective;
  state->mask_probability = mask_probability;
  state->sequence_length = sequence_length;
  const TokenCache& tokens = *state->cache;
  ASSIGN_OR_RETURN(state->special_tokens, SpecialTokensOf(tokens.tokenizer(), objective));
  const auto pack = [&](uint64_t first_text, uint64_t end_text) {
    return Pack(tokens, first_text, end_text, objective, state->special_tokens, sequence_length);
  };
  state->train.emplace(pack(0, tokens.train_texts()));
  state->validation.emplace(pack(tokens.train_texts(), tokens.texts()));
  if (state->train->size() == 0 || state->validation->size() == 0) {
    const bool train = state->train->size() == 0;
    const uint64_t split = tokens.text_begins()[tokens.train_texts()];
    return absl::InvalidArgumentError(
        absl::StrCat("data.text: no sequence of ", sequence_length, " tokens fits the ",
                     train ? "training" : "validation", " part of ", state->corpus, " (",
                     train ? split : tokens.tokens() - split, " tokens); use more text, a smaller ",
                     std::string(length_field), train ? "" : " or a larger data.text.validation_fraction"));
  }
  state->digest = Sha256Hex(absl::StrFormat("inlier text dataset 1\ntokens %s\nT %d\nobjective %s\n",
                                            tokens.digest(), sequence_length, v1::Objective_Name(objective)));
  return std::unique_ptr<TextDataset>(new TextDataset(std::move(state)));
}

void TextDataset::State::Read(const PackedTexts& part, int64_t sequence, std::span<int64_t> ids,
                              std::span<uint8_t> special) const {
  part.Read(sequence, ids, special);
  // Special tokens that a text spells out, where its tokenizer knows them.
  for (size_t i = 0; i < ids.size(); ++i) special[i] |= special_tokens.IsSpecial(ids[i]);
}

Batch TextDataset::State::MakeBatch(const PackedTexts& part, const std::vector<int64_t>& sequences,
                                    uint64_t mask_seed, std::string_view mask_name,
                                    const std::vector<uint64_t>& mask_numbers) const {
  const auto rows = static_cast<int64_t>(sequences.size());
  Batch batch;
  batch.ids = torch::full({rows, sequence_length}, special_tokens.pad, torch::kInt64);
  batch.labels = torch::full({rows, sequence_length}, kNoTarget, torch::kInt64);
  std::vector<uint8_t> special(sequence_length);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t length = part.LengthOf(sequences[row]);
    const std::span ids(batch.ids.data_ptr<int64_t>() + row * sequence_length, length);
    const std::span labels(batch.labels.data_ptr<int64_t>() + row * sequence_length, length);
    Read(part, sequences[row], ids, std::span(special).first(length));
    if (objective == v1::MLM) {
      RandomStream stream(mask_seed, mask_name, mask_numbers[row]);
      DrawMask({.probability = mask_probability,
                .mask_id = *special_tokens.mask,
                .vocab_size = cache->tokenizer().size()},
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
    Read(part, sequence, std::span(ids).first(length), std::span(special).first(length));
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
  ASSIGN_OR_RETURN(const CorpusSource source, CorpusSourceOf(spec, options.data_dir));
  TokenCacheSettings settings;
  ASSIGN_OR_RETURN(settings.tokenizer, TokenizerSourceOf(spec.tokenizer(), options.data_dir));
  settings.validation_fraction = spec.validation_fraction();
  ASSIGN_OR_RETURN(TokenCache cache, TokenCache::OpenOrMake(source, settings, options));
  return State::Cut(std::make_shared<const TokenCache>(std::move(cache)), source.path.string(), objective,
                    spec.mask_probability(), spec.sequence_length(), "data.text.sequence_length");
}

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::WithSequenceLength(int64_t sequence_length) const {
  return State::Cut(state_->cache, state_->corpus, state_->objective, state_->mask_probability,
                    sequence_length, "evaluation.sequence_length");
}

int64_t TextDataset::vocab_size() const { return state_->cache->tokenizer().size(); }
int64_t TextDataset::sequence_length() const { return state_->sequence_length; }
v1::Objective TextDataset::objective() const { return state_->objective; }
int64_t TextDataset::train_examples() const { return state_->train->size(); }
int64_t TextDataset::validation_examples() const { return state_->validation->size(); }
const std::string& TextDataset::dataset_digest() const { return state_->digest; }
const SpecialTokens& TextDataset::special_tokens() const { return state_->special_tokens; }

Batch TextDataset::TrainBatch(uint64_t seed, uint64_t index, int64_t batch_size) const {
  INLIER_CHECK(batch_size > 0);
  const auto size = static_cast<uint64_t>(train_examples());
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

Batch TextDataset::ValidationBatch(int64_t index, int64_t batch_size, uint64_t mask_seed) const {
  INLIER_CHECK(index >= 0 && index < ValidationBatches(batch_size));
  std::vector<int64_t> sequences;
  for (int64_t i = index * batch_size; i < std::min((index + 1) * batch_size, validation_examples()); ++i) {
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
  return state_->cache->tokenizer().Decode(values);
}

}  // namespace inlier
