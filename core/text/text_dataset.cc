#include "core/text/text_dataset.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/random_stream.h"
#include "base/status.h"
#include "core/data/example_order.h"
#include "core/data/unigram_perplexity.h"
#include "core/text/masking.h"
#include "core/text/packing.h"
#include "core/text/token_cache.h"
#include "core/text/tokenizer_of_spec.h"
#include "torch/types.h"

namespace inlier {
namespace {

constexpr char kTokenizerPath[] = "data.text.tokenizer";

absl::StatusOr<CorpusSource> CorpusSourceOf(const v1::TextDataSpec& spec, const TextOpenOptions& options) {
  if (spec.has_path())
    return CorpusSource{.path = spec.path(), .field = spec.field(), .roots = options.roots};
  ASSIGN_OR_RETURN(std::filesystem::path file, FindCorpus(spec.corpus(), options.data_dir));
  return CorpusSource{.path = std::move(file), .must_be_utf8 = false, .roots = options.roots};
}

}  // namespace

struct TextDataset::State {
  // How the texts are cut and masked.
  struct Cutting {
    v1::Objective objective = v1::MLM;
    double mask_probability = 0;
    int64_t sequence_length = 0;
    bool begin_every_sequence = false;
  };

  // The sequences of one part of the corpus.
  PackedTexts Pack(uint64_t first_text, uint64_t end_text) const;

  // Cuts the cache's texts. InvalidArgument, naming `length_field`, when a part has no sequence.
  static absl::StatusOr<std::unique_ptr<TextDataset>> Cut(std::shared_ptr<const TokenCache> cache,
                                                          std::string corpus, const Cutting& cutting,
                                                          std::string_view length_field);

  // A sequence's ids, and 1 where they are special tokens.
  void Read(const PackedTexts& part, int64_t sequence, std::span<int64_t> ids,
            std::span<uint8_t> special) const;

  // `sequences` of a part, with the masks of stream (mask_seed, mask_name, first_number + i).
  Batch MakeBatch(const PackedTexts& part, const std::vector<int64_t>& sequences, uint64_t mask_seed,
                  std::string_view mask_name, uint64_t first_number) const;

  // Calls with every id that the part's sequences predict.
  template <typename Visit>
  void VisitTargets(const PackedTexts& part, Visit visit) const;

  std::shared_ptr<const TokenCache> cache;
  std::string corpus;  // For messages.
  Cutting cutting;
  SpecialTokens special_tokens;
  std::string digest;
  std::optional<PackedTexts> train;
  std::optional<PackedTexts> validation;
};

PackedTexts TextDataset::State::Pack(uint64_t first_text, uint64_t end_text) const {
  PackedTexts::Options options;
  options.sequence_length = cutting.sequence_length;
  options.short_group = cutting.objective == v1::MLM ? ShortGroup::kKeep : ShortGroup::kDrop;
  if (cutting.begin_every_sequence) options.head = special_tokens.begin;
  options.before_text = {special_tokens.begin};
  if (special_tokens.end.has_value()) options.after_text = {*special_tokens.end};
  return PackedTexts(std::move(options), cache->text_begins().subspan(first_text, end_text - first_text + 1),
                     [this](uint64_t begin, std::span<int64_t> ids) { cache->Read(begin, ids); });
}

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::State::Cut(std::shared_ptr<const TokenCache> cache,
                                                                     std::string corpus,
                                                                     const Cutting& cutting,
                                                                     std::string_view length_field) {
  auto state = std::make_unique<State>();
  state->cache = std::move(cache);
  state->corpus = std::move(corpus);
  state->cutting = cutting;
  const TokenCache& tokens = *state->cache;
  ASSIGN_OR_RETURN(state->special_tokens,
                   SpecialTokensOf(tokens.tokenizer(), cutting.objective, kTokenizerPath));
  state->train.emplace(state->Pack(0, tokens.train_texts()));
  state->validation.emplace(state->Pack(tokens.train_texts(), tokens.texts()));
  if (state->train->size() == 0 || state->validation->size() == 0) {
    const bool train = state->train->size() == 0;
    const uint64_t split = tokens.text_begins()[tokens.train_texts()];
    return absl::InvalidArgumentError(
        absl::StrCat("data.text: no sequence of ", cutting.sequence_length, " tokens fits the ",
                     train ? "training" : "validation", " part of ", state->corpus, " (",
                     train ? split : tokens.tokens() - split, " tokens); use more text, a smaller ",
                     std::string(length_field), train ? "" : " or a larger data.text.validation_fraction"));
  }
  state->digest = Sha256Hex(absl::StrFormat(
      "inlier text dataset 1\ntokens %s\nT %d\nobjective %s\n%s", tokens.digest(), cutting.sequence_length,
      v1::Objective_Name(cutting.objective), cutting.begin_every_sequence ? "begin every sequence\n" : ""));
  return std::unique_ptr<TextDataset>(new TextDataset(std::move(state)));
}

void TextDataset::State::Read(const PackedTexts& part, int64_t sequence, std::span<int64_t> ids,
                              std::span<uint8_t> special) const {
  part.Read(sequence, ids, special);
  // Special tokens spelt out in a text, where its tokenizer knows them.
  for (size_t i = 0; i < ids.size(); ++i) special[i] |= special_tokens.IsSpecial(ids[i]);
}

Batch TextDataset::State::MakeBatch(const PackedTexts& part, const std::vector<int64_t>& sequences,
                                    uint64_t mask_seed, std::string_view mask_name,
                                    uint64_t first_number) const {
  const int64_t sequence_length = cutting.sequence_length;
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
    if (cutting.objective == v1::MLM) {
      RandomStream stream(mask_seed, mask_name, first_number + row);
      DrawMask({.probability = cutting.mask_probability,
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
  std::vector<int64_t> ids(cutting.sequence_length);
  std::vector<uint8_t> special(cutting.sequence_length);
  for (int64_t sequence = 0; sequence < part.size(); ++sequence) {
    const int64_t length = part.LengthOf(sequence);
    Read(part, sequence, std::span(ids).first(length), std::span(special).first(length));
    for (int64_t i = cutting.objective == v1::CLM ? 1 : 0; i < length; ++i) {
      if (cutting.objective == v1::CLM || !special[i]) visit(ids[i]);
    }
  }
}

TextDataset::TextDataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextDataset::~TextDataset() = default;

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::Open(const v1::TextDataSpec& spec,
                                                               v1::Objective objective,
                                                               const TextOpenOptions& options) {
  ASSIGN_OR_RETURN(const CorpusSource source, CorpusSourceOf(spec, options));
  TokenCacheSettings settings;
  ASSIGN_OR_RETURN(settings.tokenizer, TokenizerSourceOf(spec.tokenizer(), kTokenizerPath, options));
  settings.validation_fraction = spec.validation_fraction();
  settings.validation = ValidationTextsOf(spec.validation());
  ASSIGN_OR_RETURN(TokenCache cache, TokenCache::OpenOrMake(source, settings, options));
  return State::Cut(std::make_shared<const TokenCache>(std::move(cache)), source.path.string(),
                    {.objective = objective,
                     .mask_probability = spec.mask_probability(),
                     .sequence_length = spec.sequence_length(),
                     .begin_every_sequence = spec.begin_every_sequence()},
                    "data.text.sequence_length");
}

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::WithSequenceLength(int64_t sequence_length) const {
  State::Cutting cutting = state_->cutting;
  cutting.sequence_length = sequence_length;
  return State::Cut(state_->cache, state_->corpus, cutting, "evaluation.sequence_length");
}

int64_t TextDataset::vocab_size() const { return state_->cache->tokenizer().size(); }
const Tokenizer& TextDataset::tokenizer() const { return state_->cache->tokenizer(); }
int64_t TextDataset::sequence_length() const { return state_->cutting.sequence_length; }
v1::Objective TextDataset::objective() const { return state_->cutting.objective; }
int64_t TextDataset::train_examples() const { return state_->train->size(); }
int64_t TextDataset::validation_examples() const { return state_->validation->size(); }
const std::string& TextDataset::dataset_digest() const { return state_->digest; }
const SpecialTokens& TextDataset::special_tokens() const { return state_->special_tokens; }

Batch TextDataset::TrainBatch(uint64_t seed, uint64_t index, int64_t batch_size) const {
  return state_->MakeBatch(*state_->train, TrainExamples(train_examples(), seed, index, batch_size), seed,
                           "mask", index * static_cast<uint64_t>(batch_size));
}

Batch TextDataset::ValidationBatch(int64_t index, int64_t batch_size, uint64_t mask_seed) const {
  return state_->MakeBatch(*state_->validation, ValidationExamples(validation_examples(), index, batch_size),
                           mask_seed, "validation mask", static_cast<uint64_t>(index * batch_size));
}

Batch TextDataset::CalibrationBatch(v1::Split split, int64_t index, int64_t batch_size, uint64_t seed) const {
  const bool train = split == v1::TRAIN;
  const PackedTexts& part = train ? *state_->train : *state_->validation;
  return state_->MakeBatch(part, CalibrationExamples(part.size(), /*drawn=*/train, seed, index, batch_size),
                           seed, "calibration mask", static_cast<uint64_t>(index * batch_size));
}

double TextDataset::ComputeUnigramPerplexity() const {
  std::vector<double> counts(vocab_size(), 0);
  state_->VisitTargets(*state_->validation, [&](int64_t id) { ++counts[id]; });
  return UnigramPerplexity(counts);
}

std::string TextDataset::Decode(const torch::Tensor& ids) const {
  const torch::Tensor flat = ids.to(torch::kCPU, torch::kInt64).contiguous().view({-1});
  const std::vector<uint32_t> values(flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel());
  return state_->cache->tokenizer().Decode(values);
}

}  // namespace inlier
