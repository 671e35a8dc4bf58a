#include "core/text/text_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/random_stream.h"
#include "base/status.h"
#include "core/data/unigram_perplexity.h"
#include "core/text/masking.h"
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

PackedTexts TextDataset::Pack(uint64_t first_text, uint64_t end_text) const {
  PackedTexts::Options options;
  options.sequence_length = cutting_.sequence_length;
  options.short_group = cutting_.objective == v1::MLM ? ShortGroup::kKeep : ShortGroup::kDrop;
  if (cutting_.begin_every_sequence) options.head = special_tokens_.begin;
  options.before_text = {special_tokens_.begin};
  if (special_tokens_.end.has_value()) options.after_text = {*special_tokens_.end};
  return PackedTexts(std::move(options), cache_->text_begins().subspan(first_text, end_text - first_text + 1),
                     [this](uint64_t begin, std::span<int64_t> ids) { cache_->Read(begin, ids); });
}

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::Cut(std::shared_ptr<const TokenCache> cache,
                                                              std::string corpus, const Cutting& cutting,
                                                              std::string_view length_field) {
  std::unique_ptr<TextDataset> made(new TextDataset());
  made->cache_ = std::move(cache);
  made->corpus_ = std::move(corpus);
  made->cutting_ = cutting;
  const TokenCache& tokens = *made->cache_;
  ASSIGN_OR_RETURN(made->special_tokens_,
                   SpecialTokensOf(tokens.tokenizer(), cutting.objective, kTokenizerPath));
  made->train_.emplace(made->Pack(0, tokens.train_texts()));
  made->validation_.emplace(made->Pack(tokens.train_texts(), tokens.texts()));
  if (made->train_->size() == 0 || made->validation_->size() == 0) {
    const bool train = made->train_->size() == 0;
    const uint64_t split = tokens.text_begins()[tokens.train_texts()];
    return absl::InvalidArgumentError(
        absl::StrCat("data.text: no sequence of ", cutting.sequence_length, " tokens fits the ",
                     train ? "training" : "validation", " part of ", made->corpus_, " (",
                     train ? split : tokens.tokens() - split, " tokens); use more text, a smaller ",
                     std::string(length_field), train ? "" : " or a larger data.text.validation_fraction"));
  }
  made->digest_ = Sha256Hex(absl::StrFormat(
      "inlier text dataset 1\ntokens %s\nT %d\nobjective %s\n%s", tokens.digest(), cutting.sequence_length,
      v1::Objective_Name(cutting.objective), cutting.begin_every_sequence ? "begin every sequence\n" : ""));
  return made;
}

void TextDataset::Read(const PackedTexts& part, int64_t sequence, std::span<int64_t> ids,
                       std::span<uint8_t> special) const {
  part.Read(sequence, ids, special);
  // Special tokens spelt out in a text, where its tokenizer knows them.
  for (size_t i = 0; i < ids.size(); ++i) special[i] |= special_tokens_.IsSpecial(ids[i]);
}

Batch TextDataset::MakeBatch(const Place& place, const std::vector<int64_t>& sequences) const {
  constexpr const char* kMasks[] = {"mask", "validation mask", "calibration mask"};  // By use.
  const PackedTexts& part = place.train ? *train_ : *validation_;
  const int64_t sequence_length = cutting_.sequence_length;
  const auto rows = static_cast<int64_t>(sequences.size());
  Batch batch;
  batch.ids = torch::full({rows, sequence_length}, special_tokens_.pad, torch::kInt64);
  batch.labels = torch::full({rows, sequence_length}, kNoTarget, torch::kInt64);
  std::vector<uint8_t> special(sequence_length);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t length = part.LengthOf(sequences[row]);
    const std::span ids(batch.ids.data_ptr<int64_t>() + row * sequence_length, length);
    const std::span labels(batch.labels.data_ptr<int64_t>() + row * sequence_length, length);
    Read(part, sequences[row], ids, std::span(special).first(length));
    if (cutting_.objective == v1::MLM) {
      RandomStream stream(place.seed, kMasks[static_cast<int>(place.use)], place.first + row);
      DrawMask({.probability = cutting_.mask_probability,
                .mask_id = *special_tokens_.mask,
                .vocab_size = vocab_size()},
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

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::Open(const v1::TextDataSpec& spec,
                                                               v1::Objective objective,
                                                               const TextOpenOptions& options) {
  ASSIGN_OR_RETURN(const CorpusSource source, CorpusSourceOf(spec, options));
  TokenCacheSettings settings;
  ASSIGN_OR_RETURN(settings.tokenizer, TokenizerSourceOf(spec.tokenizer(), kTokenizerPath, options));
  settings.validation_fraction = spec.validation_fraction();
  settings.validation = ValidationTextsOf(spec.validation());
  ASSIGN_OR_RETURN(TokenCache cache, TokenCache::OpenOrMake(source, settings, options));
  return Cut(std::make_shared<const TokenCache>(std::move(cache)), source.path.string(),
             {.objective = objective,
              .mask_probability = spec.mask_probability(),
              .sequence_length = spec.sequence_length(),
              .begin_every_sequence = spec.begin_every_sequence()},
             "data.text.sequence_length");
}

absl::StatusOr<std::unique_ptr<TextDataset>> TextDataset::WithSequenceLength(int64_t sequence_length) const {
  Cutting cutting = cutting_;
  cutting.sequence_length = sequence_length;
  return Cut(cache_, corpus_, cutting, "evaluation.sequence_length");
}

torch::Tensor TextDataset::token_bytes() const {
  if (cutting_.objective != v1::CLM) return {};
  torch::Tensor bytes = torch::empty({vocab_size()}, torch::kInt64);
  for (int64_t id = 0; id < vocab_size(); ++id) {
    bytes.data_ptr<int64_t>()[id] =
        special_tokens_.IsSpecial(id) ? 0 : tokenizer().TextBytes(static_cast<uint32_t>(id));
  }
  return bytes;
}

double TextDataset::ComputeUnigramPerplexity() const {
  const bool causal = cutting_.objective == v1::CLM;
  std::vector<double> counts(vocab_size(), 0);
  std::vector<int64_t> ids(cutting_.sequence_length);
  std::vector<uint8_t> special(cutting_.sequence_length);
  for (int64_t sequence = 0; sequence < validation_examples(); ++sequence) {
    const int64_t length = validation_->LengthOf(sequence);
    Read(*validation_, sequence, std::span(ids).first(length), std::span(special).first(length));
    for (int64_t i = causal ? 1 : 0; i < length; ++i) {
      if (causal || !special[i]) ++counts[ids[i]];
    }
  }
  return UnigramPerplexity(counts);
}

}  // namespace inlier
