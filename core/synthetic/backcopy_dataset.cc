#include "core/synthetic/backcopy_dataset.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/random_stream.h"
#include "core/data/unigram_perplexity.h"
#include "torch/types.h"

namespace inlier {

constexpr std::string_view kValidation = "validation sequence";

BackcopyDataset::BackcopyDataset(const v1::BackcopyDataSpec& spec)
    : chain_({.vocab_size = spec.vocab_size(),
              .triggers = spec.triggers(),
              .concentration = spec.concentration(),
              .seed = spec.chain_seed()}),
      vocab_size_(spec.vocab_size()),
      sequence_length_(spec.sequence_length()),
      validation_sequences_(spec.validation_sequences()),
      chain_seed_(spec.chain_seed()),
      digest_(Sha256Hex(absl::StrFormat(
          "inlier backcopy dataset 1\ntokens %d\ntriggers %d\nconcentration %.17g\nchain %d\nT %d\n"
          "validation %d\n",
          spec.vocab_size(), spec.triggers(), spec.concentration(), spec.chain_seed(), spec.sequence_length(),
          spec.validation_sequences()))) {}

Batch BackcopyDataset::MakeBatch(std::uint64_t seed, std::string_view stream, std::uint64_t first,
                                 std::int64_t count) const {
  Batch batch;
  batch.ids = torch::empty({count, sequence_length_}, torch::kInt64);
  for (std::int64_t row = 0; row < count; ++row) {
    std::uint64_t number = first + static_cast<std::uint64_t>(row);
    if (stream == kValidation) number %= static_cast<std::uint64_t>(validation_sequences_);
    RandomStream random(seed, stream, number);
    chain_.Draw(random, {batch.ids.data_ptr<std::int64_t>() + row * sequence_length_,
                         static_cast<std::size_t>(sequence_length_)});
  }
  batch.labels = batch.ids.clone();
  return batch;
}

Batch BackcopyDataset::TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t batch_size) const {
  return MakeBatch(seed, "sequence", index * static_cast<std::uint64_t>(batch_size), batch_size);
}

Batch BackcopyDataset::ValidationBatch(std::int64_t index, std::int64_t batch_size,
                                       std::uint64_t /*mask_seed*/) const {
  const std::int64_t first = index * batch_size;
  INLIER_CHECK(first >= 0 && first < validation_sequences_);
  return MakeBatch(chain_seed_, kValidation, static_cast<std::uint64_t>(first),
                   std::min(batch_size, validation_sequences_ - first));
}

Batch BackcopyDataset::CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                                        std::uint64_t seed) const {
  const auto first = static_cast<std::uint64_t>(index * batch_size);
  if (split == v1::TRAIN) return MakeBatch(seed, "calibration sequence", first, batch_size);
  return MakeBatch(chain_seed_, kValidation, first, batch_size);
}

double BackcopyDataset::ComputeUnigramPerplexity() const {
  std::vector<double> counts(vocab_size_, 0);
  std::vector<std::int64_t> ids(sequence_length_);
  for (std::int64_t number = 0; number < validation_sequences_; ++number) {
    RandomStream random(chain_seed_, kValidation, static_cast<std::uint64_t>(number));
    chain_.Draw(random, ids);
    for (const std::int64_t id : std::span(ids).subspan(1)) ++counts[id];
  }
  return UnigramPerplexity(counts);
}

}  // namespace inlier
