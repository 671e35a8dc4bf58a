#include "spec/trial/update_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <utility>

namespace inlier {
namespace {

v1::TrainingSpec Training(std::uint32_t batch_size, std::uint32_t accumulation) {
  v1::TrainingSpec spec;
  spec.set_batch_size(batch_size);
  spec.set_gradient_accumulation(accumulation);
  return spec;
}

// How many ranks train on each (micro-batch, example) of an update.
std::map<std::pair<std::uint64_t, std::uint64_t>, int> Taken(const v1::TrainingSpec& spec,
                                                            std::uint64_t processes) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> taken;
  for (std::uint64_t rank = 0; rank < processes; ++rank) {
    const absl::StatusOr<UpdateSplit> split = SplitUpdate(spec, rank, processes);
    EXPECT_TRUE(split.ok()) << split.status();
    if (!split.ok()) continue;
    for (std::uint64_t i = split->group; i < spec.gradient_accumulation(); i += split->groups) {
      const std::uint64_t first = split->part * split->part_examples;
      for (std::uint64_t e = first; e < first + split->part_examples; ++e) ++taken[{i, e}];
    }
  }
  return taken;
}

TEST(UpdateSplitTest, EveryExampleIsOfOneRankAndAllRanksHaveEqualShares) {
  for (const auto& [batch, accumulation, processes] :
       {std::tuple{8u, 1u, 1u}, {8u, 1u, 2u}, {8u, 1u, 8u}, {8u, 4u, 4u}, {8u, 2u, 4u}, {6u, 4u, 6u}, {5u, 3u, 3u}}) {
    const v1::TrainingSpec spec = Training(batch, accumulation);
    const auto taken = Taken(spec, processes);
    EXPECT_EQ(taken.size(), std::size_t{batch} * accumulation);
    for (const auto& [example, count] : taken) EXPECT_EQ(count, 1);
    const UpdateSplit first = *SplitUpdate(spec, 0, processes);
    EXPECT_EQ(accumulation / first.groups * first.part_examples * processes, batch * accumulation);
  }
}

TEST(UpdateSplitTest, MicroBatchesAreSplitBeforeTheirExamples) {
  const UpdateSplit split = *SplitUpdate(Training(5, 3), 2, 3);
  EXPECT_EQ(split.parts, 1u);
  EXPECT_EQ(split.group, 2u);
  EXPECT_EQ(split.part_examples, 5u);
}

TEST(UpdateSplitTest, SharesThatCannotBeEqualAreRefusedWithTheRemedy) {
  const absl::Status refused = SplitUpdate(Training(6, 2), 0, 8).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("a multiple of 4"));
}

TEST(UpdateSplitTest, RoundedOperandsKeepAMicroBatchOnOneRank) {
  v1::TrainingSpec spec = Training(8, 2);
  spec.mutable_low_precision()->mutable_weights();
  EXPECT_TRUE(SplitUpdate(spec, 0, 2).ok());
  EXPECT_THAT(std::string(SplitUpdate(spec, 0, 4).status().message()),
              testing::HasSubstr("training.low_precision: a scale may cover a whole micro-batch, and 4 processes"));
  spec.mutable_low_precision()->set_learned_scales(true);
  EXPECT_TRUE(SplitUpdate(spec, 0, 1).ok());
  EXPECT_THAT(std::string(SplitUpdate(spec, 0, 2).status().message()),
              testing::StartsWith("training.low_precision.learned_scales: "));
}

}  // namespace
}  // namespace inlier
