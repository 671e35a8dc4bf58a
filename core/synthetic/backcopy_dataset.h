// Sequences of Bigram-Backcopy (bigram_chain.h) as data for a causal model. Nothing is read from a file.
//
// Sequence number n of a stream is a function of (seed, stream, n): training draws from the trial's seed and
// never repeats, validation from chain_seed, so that all trials on one chain are evaluated on the same sequences.
#ifndef INLIER_CORE_SYNTHETIC_BACKCOPY_DATASET_H_
#define INLIER_CORE_SYNTHETIC_BACKCOPY_DATASET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/data/dataset.h"
#include "core/synthetic/bigram_chain.h"
#include "inlier/v1/data_spec.pb.h"

namespace inlier {

class BackcopyDataset : public Dataset {
 public:
  // REQUIRES: `spec` is valid.
  explicit BackcopyDataset(const v1::BackcopyDataSpec& spec);

  const std::string& dataset_digest() const override { return digest_; }
  // More than any training reads; an epoch has no end.
  std::int64_t train_examples() const override { return std::int64_t{1} << 48; }
  std::int64_t validation_examples() const override { return validation_sequences_; }
  std::int64_t sequence_length() const override { return sequence_length_; }

  // Batches: ids and labels, equal, (B, T) int64. Calibration on TRAIN draws sequences of its own.
  Batch TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t batch_size) const override;
  Batch ValidationBatch(std::int64_t index, std::int64_t batch_size, std::uint64_t mask_seed) const override;
  Batch CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                         std::uint64_t seed) const override;

  // Of the validation part's targets, which are all tokens but bos.
  double ComputeUnigramPerplexity() const;

 private:
  // Sequences `first` to first + count - 1 of a stream; those of validation start again at their end.
  Batch MakeBatch(std::uint64_t seed, std::string_view stream, std::uint64_t first, std::int64_t count) const;

  BigramChain chain_;
  std::int64_t vocab_size_;
  std::int64_t sequence_length_;
  std::int64_t validation_sequences_;
  std::uint64_t chain_seed_;
  std::string digest_;
};

}  // namespace inlier

#endif  // INLIER_CORE_SYNTHETIC_BACKCOPY_DATASET_H_
