// Data in two parts, whose batches have the examples that example_order.h names.
#ifndef INLIER_CORE_DATA_ORDERED_DATASET_H_
#define INLIER_CORE_DATA_ORDERED_DATASET_H_

#include <cstdint>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/example_order.h"

namespace inlier {

class OrderedDataset : public Dataset {
 public:
  Batch TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t batch_size) const override {
    return MakeBatch({Use::kTraining, /*train=*/true, seed, index * static_cast<std::uint64_t>(batch_size)},
                     TrainExamples(train_examples(), seed, index, batch_size));
  }
  Batch ValidationBatch(std::int64_t index, std::int64_t batch_size, std::uint64_t mask_seed) const override {
    return MakeBatch(
        {Use::kValidation, /*train=*/false, mask_seed, static_cast<std::uint64_t>(index * batch_size)},
        ValidationExamples(validation_examples(), index, batch_size));
  }
  Batch CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                         std::uint64_t seed) const override {
    const bool train = split == v1::TRAIN;
    const std::int64_t size = train ? train_examples() : validation_examples();
    return MakeBatch({Use::kCalibration, train, seed, static_cast<std::uint64_t>(index * batch_size)},
                     CalibrationExamples(size, /*drawn=*/train, seed, index, batch_size));
  }

 protected:
  enum class Use { kTraining, kValidation, kCalibration };
  struct Place {
    Use use;
    bool train;  // The examples are those of the training part, else of the validation part.
    std::uint64_t seed;
    std::uint64_t first;  // Number of the batch's first example since the start of its use.
  };
  virtual Batch MakeBatch(const Place& place, const std::vector<std::int64_t>& examples) const = 0;
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_ORDERED_DATASET_H_
