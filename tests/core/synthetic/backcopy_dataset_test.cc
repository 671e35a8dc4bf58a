#include "core/synthetic/backcopy_dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "tests/core/data/batch_rows.h"
#include "torch/types.h"

namespace inlier {
namespace {

v1::BackcopyDataSpec BackcopySpec() {
  v1::BackcopyDataSpec spec;
  spec.set_validation_sequences(50);
  return spec;
}

TEST(BackcopyDatasetTest, BatchesAreSequencesOfTheChain) {
  const BackcopyDataset data(BackcopySpec());
  const Batch batch = data.TrainBatch(1, 3, 16);
  EXPECT_EQ(batch.ids.sizes(), (std::vector<std::int64_t>{16, 32}));
  EXPECT_TRUE(torch::equal(batch.ids, batch.labels));
  EXPECT_FALSE(batch.attention_mask.defined());
  EXPECT_TRUE(batch.ids.select(1, 0).eq(0).all().item<bool>()) << "bos";
  EXPECT_GT(batch.ids.slice(1, 1).min().item<std::int64_t>(), 0);
  EXPECT_LT(batch.ids.max().item<std::int64_t>(), 64);
  int copies = 0;
  for (std::int64_t row = 0; row < 16; ++row) {
    const std::vector<std::int64_t> ids = Row(batch.ids, row);
    for (std::size_t n = 2; n < ids.size(); ++n) {
      if (ids[n - 1] > BackcopySpec().triggers()) continue;
      EXPECT_EQ(ids[n], ids[n - 2]);
      ++copies;
    }
  }
  EXPECT_GT(copies, 10);
  EXPECT_EQ(data.sequence_length(), 32);
  EXPECT_EQ(data.validation_examples(), 50);
}

// A resumed training, and one with gradient accumulation, read the sequences of the plain one.
TEST(BackcopyDatasetTest, ASequenceIsAFunctionOfSeedAndNumber) {
  const BackcopyDataset data(BackcopySpec());
  for (const std::uint64_t index : {0, 3, 1000000007}) {
    const Batch whole = data.TrainBatch(5, index, 8);
    EXPECT_TRUE(torch::equal(whole.ids, BackcopyDataset(BackcopySpec()).TrainBatch(5, index, 8).ids));
    EXPECT_TRUE(torch::equal(whole.ids, torch::cat({data.TrainBatch(5, 2 * index, 4).ids,
                                                    data.TrainBatch(5, 2 * index + 1, 4).ids})));
    EXPECT_FALSE(torch::equal(whole.ids, data.TrainBatch(6, index, 8).ids));
    EXPECT_FALSE(torch::equal(whole.ids, data.TrainBatch(5, index + 1, 8).ids)) << "nothing repeats";
  }
}

TEST(BackcopyDatasetTest, ValidationIsTheSameForEveryTrialAndApartFromTraining) {
  const BackcopyDataset data(BackcopySpec());
  const Batch all = data.ValidationBatch(0, 64, 1);
  EXPECT_EQ(all.ids.size(0), 50);
  EXPECT_EQ(data.ValidationBatches(16), 4);
  EXPECT_TRUE(torch::equal(all.ids.slice(0, 48), data.ValidationBatch(3, 16, 7).ids));
  EXPECT_FALSE(torch::equal(all.ids, data.TrainBatch(BackcopySpec().chain_seed(), 0, 50).ids));
  EXPECT_TRUE(
      torch::equal(data.CalibrationBatch(v1::VALIDATION, 1, 40, 3).ids.slice(0, 10), all.ids.slice(0, 0, 30)))
      << "starts again at the end";
  const Batch drawn = data.CalibrationBatch(v1::TRAIN, 0, 8, 3);
  EXPECT_TRUE(torch::equal(drawn.ids, data.CalibrationBatch(v1::TRAIN, 0, 8, 3).ids));
  EXPECT_FALSE(torch::equal(drawn.ids, data.TrainBatch(3, 0, 8).ids));
}

TEST(BackcopyDatasetTest, UnigramPerplexityIsThatOfTheTargets) {
  const BackcopyDataset data(BackcopySpec());
  std::map<std::int64_t, double> counts;
  for (const std::int64_t id : Row(data.ValidationBatch(0, 50, 1).ids.slice(1, 1).reshape({1, -1}), 0))
    ++counts[id];
  double entropy = 0;
  for (const auto& [id, count] : counts) entropy -= count / (50 * 31) * std::log(count / (50 * 31));
  EXPECT_NEAR(data.ComputeUnigramPerplexity(), std::exp(entropy), 1e-9 * std::exp(entropy));
}

TEST(BackcopyDatasetTest, TheDigestNamesEverySetting) {
  const std::string plain = BackcopyDataset(BackcopySpec()).dataset_digest();
  EXPECT_EQ(BackcopyDataset(BackcopySpec()).dataset_digest(), plain);
  using Change = std::function<void(v1::BackcopyDataSpec&)>;
  for (const Change& change :
       {Change([](auto& spec) { spec.set_vocab_size(65); }), Change([](auto& spec) { spec.set_triggers(4); }),
        Change([](auto& spec) { spec.set_sequence_length(33); }),
        Change([](auto& spec) { spec.set_concentration(0.2); }),
        Change([](auto& spec) { spec.set_chain_seed(2); }),
        Change([](auto& spec) { spec.set_validation_sequences(51); })}) {
    v1::BackcopyDataSpec other = BackcopySpec();
    change(other);
    EXPECT_NE(BackcopyDataset(other).dataset_digest(), plain) << other.ShortDebugString();
  }
}

}  // namespace
}  // namespace inlier
