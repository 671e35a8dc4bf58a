// Data ready for training, whatever it is: served as batches that depend on nothing but their number.
//
// Every batch is a pure function of (content, settings, seed, number): a resumed training asks for the next
// number and meets exactly the batches it would have met. What is drawn for one example (masks, crops) is
// drawn from a stream of that example, so neither the batch size nor gradient accumulation changes it.
//
// An example is a sequence of text, a sentence, a pair or an image.
//
// Thread safety: const methods may be called from any threads at once.
#ifndef INLIER_CORE_DATA_DATASET_H_
#define INLIER_CORE_DATA_DATASET_H_

#include <cstdint>
#include <string>

#include "core/data/batch.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  // Names what is served: the content and every setting that changes a batch.
  virtual const std::string& dataset_digest() const = 0;

  virtual std::int64_t train_examples() const = 0;
  virtual std::int64_t validation_examples() const = 0;

  // Tokens in an example, padding included; 0 for images, whose tokens are the model's business.
  virtual std::int64_t sequence_length() const = 0;

  // The micro-batch number `index` of training. All micro-batches are full: examples are read epoch after
  // epoch, each epoch in an order of its own drawn from (seed, epoch), and a batch may lie across the end of
  // one.
  virtual Batch TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t batch_size) const = 0;

  // Validation examples in their order; the last batch may be smaller. `mask_seed` is for masks (MLM).
  // REQUIRES: index < ValidationBatches(batch_size).
  virtual Batch ValidationBatch(std::int64_t index, std::int64_t batch_size,
                                std::uint64_t mask_seed) const = 0;
  std::int64_t ValidationBatches(std::int64_t batch_size) const {
    return (validation_examples() + batch_size - 1) / batch_size;
  }

  // What range estimators see: TRAIN: examples drawn without repetition by `seed`, as they are before any
  // augmentation; VALIDATION: the first ones in order. Past the end of the split it starts again; all batches
  // are full.
  virtual Batch CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                                 std::uint64_t seed) const = 0;

 protected:
  Dataset() = default;
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_DATASET_H_
