#include "coordinator/orchestration/dense_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordinator/store/ids.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

struct Record {
  StageId id;
  int value = 0;
};
using Table = DenseTable<StageId, Record>;

TEST(DenseTableTest, RecordsAreMadeOnceAndStayWhereTheyAre) {
  ColdMemory memory;
  Table table(memory);
  table[StageId(1)].value = 7;
  const Record* first = table.Find(StageId(1));
  for (int i = 1; i <= 1000; ++i) table[StageId(i)].value += i;
  EXPECT_EQ(table.size(), 1000u);
  EXPECT_EQ(table.Find(StageId(1)), first);
  EXPECT_EQ(first->value, 8);
  EXPECT_EQ(table.at(StageId(640)).value, 640);
}

TEST(DenseTableTest, WhatWasNotMadeIsNotThere) {
  ColdMemory memory;
  Table table(memory);
  table[StageId(64)].value = 1;
  for (const int id : {0, 1, 63, 65, 128, -64}) EXPECT_FALSE(table.contains(StageId(id))) << id;
  EXPECT_TRUE(table.contains(StageId(64)));
  EXPECT_EQ(table.Find(StageId(65)), nullptr);
}

TEST(DenseTableTest, GapsCostLittleAndAreNotVisited) {
  ColdMemory memory;
  Table table(memory);
  for (const std::int64_t id : {std::int64_t{3}, std::int64_t{1} << 40, std::int64_t{1} << 61})
    table[StageId(id)].value = 1;
  std::set<StageId> seen;
  table.ForEach([&seen](const Record& record) { seen.insert(record.id); });
  EXPECT_EQ(seen,
            (std::set<StageId>{StageId(3), StageId(std::int64_t{1} << 40), StageId(std::int64_t{1} << 61)}));
  EXPECT_EQ(table.size(), 3u);
}

TEST(DenseTableTest, RecordsAreVisitedInOrderAndBackwards) {
  ColdMemory memory;
  Table table(memory);
  for (const int id : {40'000, 3, 17'000, 16'383, 16'384}) table[StageId(id)].value = id;
  std::vector<int> forwards, backwards;
  table.ForEach([&](const Record& record) { forwards.push_back(record.value); });
  table.ForEachBackwards(StageId(), [&](const Record& record) {
    backwards.push_back(record.value);
    return backwards.size() < 3;
  });
  EXPECT_EQ(forwards, (std::vector{3, 16'383, 16'384, 17'000, 40'000}));
  EXPECT_EQ(backwards, (std::vector{40'000, 17'000, 16'384}));
}

// Of a size that makes 256 of them whole pages.
struct Owner {
  StageId id;
  std::shared_ptr<int> owns;
  std::int64_t value = 0;
  std::int64_t state = 0;  // 1: it has ended.
  std::int64_t more = 0;
};
using Owners = DenseTable<StageId, Owner>;
static_assert(256 * sizeof(Owner) % 4096 == 0);

constexpr auto kEnded = [](const Owner& owner) { return owner.state == 1; };

class CoolingTest : public testing::Test {
 protected:
  CoolingTest() { EXPECT_TRUE(memory_.UseFileIn(folder_.path()).ok()); }
  void Make(Owners& table, int last, int state = 1) {
    for (int id = 1; id <= last; ++id) {
      Owner& owner = table[StageId(id)];
      owner.value = id * 3;
      owner.state = state;
    }
  }
  std::size_t CoolAll(Owners& table) {
    std::size_t all = 0;
    while (const std::size_t written = table.WriteCold(4, kEnded)) {
      all += written;
      EXPECT_TRUE(memory_.Sync().ok());
      table.MapCold();
    }
    return all;
  }

  const TemporaryFolder folder_;
  ColdMemory memory_;
};

TEST_F(CoolingTest, FullPartsOfWhatHasEndedAreCooledOnce) {
  Owners table(memory_);
  Make(table, 20'000);
  table.at(StageId(300)).state = 0;
  // 20,000 / 256 = 78 full parts, one of them with a record that goes on.
  EXPECT_EQ(CoolAll(table), 77u);
  EXPECT_EQ(memory_.cooled_bytes(), 77u * 256 * sizeof(Owner));
  EXPECT_EQ(CoolAll(table), 0u);
  for (int id = 1; id <= 20'000; ++id) ASSERT_EQ(std::as_const(table).at(StageId(id)).value, id * 3);
  table.at(StageId(300)).state = 1;
  EXPECT_EQ(CoolAll(table), 1u);
}

TEST_F(CoolingTest, WhatIsTouchedBetweenWritingAndMappingStays) {
  Owners table(memory_);
  Make(table, 1000);
  EXPECT_EQ(table.WriteCold(100, kEnded), 3u);
  table.at(StageId(5)).value = 77;
  table[StageId(300)].value = 88;
  EXPECT_TRUE(memory_.Sync().ok());
  table.MapCold();
  EXPECT_EQ(memory_.cooled_bytes(), 256 * sizeof(Owner));
  EXPECT_EQ(std::as_const(table).at(StageId(5)).value, 77);
  EXPECT_EQ(std::as_const(table).at(StageId(300)).value, 88);
  // Later they go too, as they are then.
  EXPECT_EQ(CoolAll(table), 2u);
  EXPECT_EQ(std::as_const(table).at(StageId(5)).value, 77);
  EXPECT_EQ(std::as_const(table).at(StageId(300)).value, 88);
}

TEST_F(CoolingTest, WhatIsChangedWhileItIsColdIsCooledAgain) {
  Owners table(memory_);
  Make(table, 600);
  EXPECT_EQ(CoolAll(table), 2u);
  table.at(StageId(7)).value = 1234;
  EXPECT_EQ(std::as_const(table).at(StageId(7)).value, 1234);
  EXPECT_EQ(CoolAll(table), 1u);
  EXPECT_EQ(std::as_const(table).at(StageId(7)).value, 1234);
  EXPECT_EQ(std::as_const(table).at(StageId(8)).value, 24);
}

TEST_F(CoolingTest, GapsAreNoHindranceAndWhatRecordsOwnIsLetGo) {
  const auto owned = std::make_shared<int>(5);
  {
    Owners table(memory_);
    for (int id = 2; id <= 2000; id += 2) {
      table[StageId(id)].state = 1;
      table.at(StageId(id)).owns = owned;
    }
    EXPECT_EQ(CoolAll(table), 7u);
    EXPECT_EQ(*std::as_const(table).at(StageId(2)).owns, 5);
    EXPECT_FALSE(table.contains(StageId(3)));
    // One comes late between others.
    table[StageId(3)].value = 9;
    EXPECT_EQ(std::as_const(table).at(StageId(2)).state, 1);
    EXPECT_EQ(owned.use_count(), 1001);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace inlier
