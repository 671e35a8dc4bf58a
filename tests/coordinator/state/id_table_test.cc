#include "coordinator/state/id_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "coordinator/store/ids.h"

namespace inlier {
namespace {

struct Row {
  StageId id;
};

TEST(IdTableTest, IdsCountFromOne) {
  IdTable<StageId, Row> table;
  EXPECT_EQ(table.NextId(), StageId(1));
  EXPECT_EQ(table.Find(StageId(1)), nullptr);
  table.Add({StageId(1)});
  table.Add({StageId(2)});
  EXPECT_EQ(table.NextId(), StageId(3));
  EXPECT_EQ(table.at(StageId(2)).id, StageId(2));
  EXPECT_EQ(table.Find(StageId(1))->id, StageId(1));
  for (const StageId none : {StageId(0), StageId(-1), StageId(3)}) {
    EXPECT_FALSE(table.contains(none)) << none.value();
    EXPECT_EQ(table.Find(none), nullptr) << none.value();
  }
  std::vector<StageId> ids;
  for (const Row& row : table) ids.push_back(row.id);
  EXPECT_THAT(ids, testing::ElementsAre(StageId(1), StageId(2)));
}

TEST(IdTableTest, ARowStaysWhereItIsWhileOthersAreAdded) {
  IdTable<StageId, Row> table;
  const Row* const first = &table.Add({StageId(1)});
  for (std::int64_t id = 2; id < 1000; ++id) table.Add({StageId(id)});
  EXPECT_EQ(table.Find(StageId(1)), first);
}

TEST(IdTableDeathTest, AnIdIsNotSkipped) {
  IdTable<StageId, Row> table;
  EXPECT_DEATH(table.Add({StageId(2)}), "NextId");
}

}  // namespace
}  // namespace inlier
