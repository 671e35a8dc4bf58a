#include "core/labelled/instruction_dataset.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/data/text_split.h"
#include "base/digest.h"
#include "base/status.h"
#include "core/text/masking.h"
#include "core/text/tokenizer_of_spec.h"
#include "spec/data/instruction_source.h"
#include "torch/types.h"

namespace inlier {
namespace {

constexpr char kInstructionTokenizer[] = "data.instructions.tokenizer";

// The template of a prompt.
std::string Framed(const std::string& prompt, const std::string& input) {
  return absl::StrCat("Instruction:\n", prompt, "\n\n",
                      input.empty() ? "" : absl::StrCat("Input:\n", input, "\n\n"), "Answer:\n");
}

// Prompt and answer of each pair, alternating.
absl::StatusOr<std::vector<std::string>> ReadPairs(const v1::InstructionDataSpec& spec,
                                                   const DataRoots& roots) {
  ASSIGN_OR_RETURN(const Records pairs, ReadInstructions(spec, {.roots = roots}));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    texts.push_back(Framed(std::string(pairs.Value(i, 0)), std::string(pairs.Value(i, 1))));
    texts.emplace_back(pairs.Value(i, 2));
  }
  return texts;
}

// Puts the pairs for training first; returns their number.
absl::StatusOr<std::int64_t> PutInParts(const v1::InstructionDataSpec& spec,
                                        std::vector<std::string>* texts) {
  const std::size_t pairs = texts->size() / 2;
  if (spec.validation() == v1::LAST)
    return static_cast<std::int64_t>(TrainTexts(pairs, spec.validation_fraction()));
  std::vector<double> hashes;
  for (std::size_t pair = 0; pair < pairs; ++pair) hashes.push_back(HashOfText((*texts)[2 * pair]));
  if (std::adjacent_find(hashes.begin(), hashes.end(), std::not_equal_to<>()) == hashes.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.path(), ": all ", pairs,
                     " prompts are equal, and a hash puts equal prompts on one side; use different ones, or "
                     "data.instructions.validation: LAST"));
  }
  const TextSplit split = SplitByHash(hashes, FractionWithBothParts(hashes, spec.validation_fraction()));
  std::vector<std::string> ordered;
  for (const std::uint64_t pair : split.order) {
    ordered.push_back(std::move((*texts)[2 * pair]));
    ordered.push_back(std::move((*texts)[2 * pair + 1]));
  }
  *texts = std::move(ordered);
  return static_cast<std::int64_t>(split.train);
}

}  // namespace

std::vector<std::int64_t> InstructionDataset::Fitting(std::int64_t first, std::int64_t end) const {
  std::vector<std::int64_t> fitting;
  for (std::int64_t pair = first; pair < end; ++pair) {
    // With the token before it, and one of the answer.
    if (cache_.TextLength(2 * pair) + 2 <= sequence_length_) fitting.push_back(pair);
  }
  return fitting;
}

Batch InstructionDataset::MakeBatch(const Place& place, const std::vector<std::int64_t>& examples) const {
  const std::vector<std::int64_t>& part = place.train ? train_ : validation_;
  const auto count = static_cast<std::int64_t>(examples.size());
  Batch batch;
  batch.ids = torch::full({count, sequence_length_}, special_tokens_.pad, torch::kInt64);
  batch.labels = torch::full({count, sequence_length_}, kNoTarget, torch::kInt64);
  batch.attention_mask = torch::zeros({count, sequence_length_}, torch::kInt64);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t prompt = 2 * static_cast<std::uint64_t>(part[examples[i]]), answer = prompt + 1;
    std::int64_t* ids = batch.ids.data_ptr<std::int64_t>() + i * sequence_length_;
    ids[0] = special_tokens_.begin;
    const std::int64_t start = 1 + cache_.TextLength(prompt);
    cache_.Read(cache_.text_begins()[prompt], {ids + 1, static_cast<std::size_t>(start - 1)});
    const std::int64_t kept = std::min(cache_.TextLength(answer), sequence_length_ - start);
    cache_.Read(cache_.text_begins()[answer], {ids + start, static_cast<std::size_t>(kept)});
    std::int64_t end = start + kept;
    if (end < sequence_length_) ids[end++] = special_tokens_.begin;
    std::copy(ids + start, ids + end, batch.labels.data_ptr<std::int64_t>() + i * sequence_length_ + start);
    std::fill_n(batch.attention_mask.data_ptr<std::int64_t>() + i * sequence_length_, end, 1);
  }
  return batch;
}

absl::StatusOr<std::unique_ptr<InstructionDataset>> InstructionDataset::Open(
    const v1::InstructionDataSpec& spec, const TextOpenOptions& options) {
  ASSIGN_OR_RETURN(std::vector<std::string> pairs, ReadPairs(spec, options.roots));
  ASSIGN_OR_RETURN(const std::int64_t train, PutInParts(spec, &pairs));
  const auto count = static_cast<std::int64_t>(pairs.size() / 2);
  PartedTexts texts{.texts = {pairs.begin(), pairs.end()},
                    .train_texts = 2 * static_cast<std::uint64_t>(train)};
  ASSIGN_OR_RETURN(const TokenizerSource tokenizer,
                   TokenizerSourceOf(spec.tokenizer(), kInstructionTokenizer, options));
  ASSIGN_OR_RETURN(TokenCache cache, TokenCache::OpenOrMake(texts, tokenizer, options));

  std::unique_ptr<InstructionDataset> made(new InstructionDataset(std::move(cache)));
  ASSIGN_OR_RETURN(made->special_tokens_, SpecialTokensOf(made->tokenizer(), v1::CLM, kInstructionTokenizer));
  made->sequence_length_ = spec.sequence_length();
  made->train_ = made->Fitting(0, train);
  made->validation_ = made->Fitting(train, count);
  made->left_out_ = count - made->train_examples() - made->validation_examples();
  if (made->train_.empty() || made->validation_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.path(), ": every prompt of the ", made->train_.empty() ? "training" : "validation",
                     " part fills a sequence of ", made->sequence_length_,
                     " tokens, with no space for an answer; raise data.instructions.sequence_length"));
  }
  made->digest_ = Sha256Hex(absl::StrFormat("inlier instruction dataset 1\ntokens %s\nT %d\n",
                                            made->cache_.digest(), made->sequence_length_));
  return made;
}

}  // namespace inlier
