// Data ready for training, of any kind: served as batches that depend on their number alone.
//
// Every batch is a pure function of (content, settings, seed, number): a resumed training asks for the next
// number and gets the batches of an uninterrupted one. Random choices for one example (masks, crops) come
// from a stream of that example, so neither the batch size nor gradient accumulation changes them.
//
// An example is a sequence of text, a sentence, a pair or an image.
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

  // Identifies the data: the content and every setting that changes a batch.
  virtual const std::string& dataset_digest() const = 0;

  virtual std::int64_t train_examples() const = 0;
  virtual std::int64_t validation_examples() const = 0;

  // Tokens in an example, padding included; 0 for images, whose number of tokens depends on the model.
  virtual std::int64_t sequence_length() const = 0;

  // Bytes of the text of each token, (V) int64, on the CPU: none of a special one. Undefined where what is predicted is not
  // the text itself.
  virtual torch::Tensor token_bytes() const { return {}; }

  // Micro-batch number `index` of training. All micro-batches are full: examples are read epoch after epoch,
  // each epoch in its own order drawn from (seed, epoch), and a batch may cross the end of an epoch.
  virtual Batch TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t batch_size) const = 0;

  // True where an example of a training batch depends on the batch's other ones.
  virtual bool mixes_examples() const { return false; }

  // Validation examples in their order; the last batch may be smaller. `mask_seed` is for masks (MLM).
  // REQUIRES: index < ValidationBatches(batch_size).
  virtual Batch ValidationBatch(std::int64_t index, std::int64_t batch_size,
                                std::uint64_t mask_seed) const = 0;
  std::int64_t ValidationBatches(std::int64_t batch_size) const {
    return (validation_examples() + batch_size - 1) / batch_size;
  }

  // Batches for the range estimators. TRAIN: examples drawn without repetition by `seed`, before any
  // augmentation; VALIDATION: the first examples in order. Past the end of the split it starts again; all
  // batches are full.
  virtual Batch CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                                 std::uint64_t seed) const = 0;

 protected:
  Dataset() = default;
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_DATASET_H_
