#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coordinator/orchestration/fingerprint_index.h"
#include "coordinator/orchestration/label_pool.h"
#include "coordinator/orchestration/spec_pool.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {
namespace {

v1::TrialSpec SpecOf(std::uint32_t seed, std::uint32_t steps) {
  v1::TrialSpec spec;
  spec.set_revision(1);
  spec.set_seed(seed);
  spec.set_dropout(0.1);
  spec.mutable_model()->mutable_bert()->set_layers(2);
  spec.mutable_training()->set_steps(steps);
  return spec;
}

std::string Packed(std::uint32_t seed, std::uint32_t steps = 100) {
  return SpecOf(seed, steps).SerializeAsString();
}

// The same message, however its fields are ordered.
std::string Read(const SpecPool& pool, SpecHandle handle) {
  v1::TrialSpec spec;
  EXPECT_TRUE(spec.ParseFromString(pool.Get(handle)));
  return spec.SerializeAsString();
}

TEST(SpecPoolTest, SpecificationsComeBackAndShareTheirTexts) {
  SpecPool pool;
  const SpecHandle first = pool.Add(Packed(1));
  const std::size_t texts = pool.texts();
  const SpecHandle second = pool.Add(Packed(4294967295));
  EXPECT_EQ(pool.texts(), texts);  // They differ in the seed alone.
  const SpecHandle third = pool.Add(Packed(1, 200));
  EXPECT_EQ(pool.texts(), texts + 1);
  EXPECT_EQ(Read(pool, first), Packed(1));
  EXPECT_EQ(Read(pool, second), Packed(4294967295));
  EXPECT_EQ(Read(pool, third), Packed(1, 200));
  EXPECT_EQ(pool.size(), 3u);
}

TEST(SpecPoolTest, WhatNobodyUsesAnyMoreIsForgottenWithItsTexts) {
  SpecPool pool;
  const SpecHandle handle = pool.Add(Packed(1));
  EXPECT_EQ(pool.Share(handle), handle);
  pool.Release(handle);
  EXPECT_EQ(Read(pool, handle), Packed(1));
  pool.Release(handle);
  pool.Release(kNoSpec);
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_EQ(pool.texts(), 0u);
  // Its places are taken again.
  EXPECT_EQ(pool.Add(Packed(2, 300)), handle);
  EXPECT_EQ(Read(pool, handle), Packed(2, 300));
  pool.Add(Packed(2, 100));
  EXPECT_EQ(Read(pool, handle), Packed(2, 300));
}

TEST(SpecPoolTest, MoreUsersThanACounterHoldsAreKeptApart) {
  SpecPool pool;
  const SpecHandle handle = pool.Add(Packed(1));
  SpecHandle last = handle;
  for (int i = 0; i < 70'000; ++i) last = pool.Share(last);
  EXPECT_NE(last, handle);
  EXPECT_EQ(Read(pool, last), Packed(1));
  EXPECT_EQ(Read(pool, handle), Packed(1));
}

TEST(SpecPoolTest, WhatIsNoSpecificationOrHasAPartTwiceIsKeptAsItIs) {
  SpecPool pool;
  v1::TrialSpec more;
  more.mutable_training()->set_batch_size(7);
  for (const std::string& odd : {std::string("\xff\xff"), std::string(), std::string(100'000, '\0'),
                                 Packed(1) + more.SerializeAsString()}) {
    EXPECT_EQ(pool.Get(pool.Add(odd)), odd);
  }
}

TEST(LabelPoolTest, LabelsComeBackWithTheNamesOfTheirAxes) {
  LabelPool pool;
  const std::vector<PointLabels> all = {
      {},
      {{"seed", "1"}, {"bits", ""}},
      {{"seed", "2"}, {"bits", "8"}},
      {{"bits", "8"}, {"seed", "2"}},
      {{"seed", std::string(254, 'a')}, {"bits", std::string(255, 'b')}},
      {{"only", std::string(70'000, 'c')}, {"zero", std::string(1, '\0')}},
  };
  std::vector<PackedLabels> packed;
  for (const PointLabels& labels : all) packed.push_back(pool.Pack(labels));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(pool.Unpack(packed[i]), all[i]) << i;
  EXPECT_EQ(packed[0], nullptr);
}

TEST(FingerprintIndexTest, EveryStageIsFoundByItsFingerprintWhileTheIndexGrows) {
  for (const bool reserve : {false, true}) {
    ColdMemory memory;
    DenseTable<StageId, Stage> stages(memory);
    FingerprintIndex index;
    if (reserve) index.Reserve(5000);
    const auto digest = [](int i) { return ParseSha256Hex(Sha256Hex(std::to_string(i))).value(); };
    for (int i = 1; i <= 5000; ++i) {
      EXPECT_FALSE(index.Find(digest(i), stages));
      Stage& stage = stages[StageId(i)];
      stage.fingerprint = digest(i);
      EXPECT_FALSE(index.Add(stage, stages));
    }
    EXPECT_EQ(index.size(), 5000u);
    // One that is known is named, and stays.
    Stage& again = stages[StageId(5001)];
    again.fingerprint = digest(17);
    EXPECT_EQ(index.Add(again, stages), StageId(17));
    EXPECT_EQ(index.size(), 5000u);
    for (int i = 1; i <= 5000; ++i) ASSERT_EQ(index.Find(digest(i), stages), StageId(i));
    EXPECT_FALSE(index.Find(digest(5001), stages));
  }
}

// All in one part, and all of the same place but the last bytes.
TEST(FingerprintIndexTest, FingerprintsThatBeginAlikeAreToldApart) {
  ColdMemory memory;
  DenseTable<StageId, Stage> stages(memory);
  FingerprintIndex index;
  for (int i = 1; i <= 300; ++i) {
    Stage& stage = stages[StageId(i)];
    stage.fingerprint.fill(0xff);
    stage.fingerprint[30] = static_cast<std::uint8_t>(i);
    stage.fingerprint[31] = static_cast<std::uint8_t>(i / 256);
    EXPECT_FALSE(index.Add(stage, stages));
  }
  for (int i = 1; i <= 300; ++i) EXPECT_EQ(index.Find(stages.at(StageId(i)).fingerprint, stages), StageId(i));
}

}  // namespace
}  // namespace inlier
