#include "coordinator/state/stage_table.h"

#include <gtest/gtest.h>

#include <string>

namespace inlier {
namespace {

Stage StageOf(int number) {
  Stage stage;
  stage.id = StageId(number);
  stage.fingerprint = ParseSha256Hex(Sha256Hex(std::to_string(number))).value();
  return stage;
}

TEST(StageTableTest, EveryStageIsFoundByIdAndByFingerprint) {
  StageTable table;
  const Stage* const first = table.Add(StageOf(1)).first;
  for (int number = 2; number <= 5000; ++number) ASSERT_TRUE(table.Add(StageOf(number)).second);
  EXPECT_EQ(table.size(), 5000u);
  EXPECT_EQ(table.Find(StageId(1)), first);  // It has not moved.
  for (int number = 1; number <= 5000; ++number) {
    const Stage* stage = table.Find(StageOf(number).fingerprint);
    ASSERT_NE(stage, nullptr);
    ASSERT_EQ(stage->id, StageId(number));
  }
  EXPECT_EQ(table.Find(StageId(5001)), nullptr);
  EXPECT_EQ(table.Find(StageOf(5001).fingerprint), nullptr);
}

TEST(StageTableTest, AFingerprintIsTakenOnce) {
  StageTable table;
  table.Add(StageOf(1));
  Stage again = StageOf(2);
  again.fingerprint = StageOf(1).fingerprint;
  const auto [stage, added] = table.Add(std::move(again));
  EXPECT_FALSE(added);
  EXPECT_EQ(stage->id, StageId(1));
  EXPECT_EQ(table.size(), 1u);
}

}  // namespace
}  // namespace inlier
