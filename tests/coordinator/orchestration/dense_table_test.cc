#include "coordinator/orchestration/dense_table.h"

#include <gtest/gtest.h>

#include <set>

#include "coordinator/store/ids.h"

namespace inlier {
namespace {

struct Record {
  StageId id;
  int value = 0;
};
using Table = DenseTable<StageId, Record>;

TEST(DenseTableTest, RecordsAreMadeOnceAndStayWhereTheyAre) {
  Table table;
  table[StageId(1)].value = 7;
  const Record* first = table.Find(StageId(1));
  for (int i = 1; i <= 1000; ++i) table[StageId(i)].value += i;
  EXPECT_EQ(table.size(), 1000u);
  EXPECT_EQ(table.Find(StageId(1)), first);
  EXPECT_EQ(first->value, 8);
  EXPECT_EQ(table.at(StageId(640)).value, 640);
}

TEST(DenseTableTest, WhatWasNotMadeIsNotThere) {
  Table table;
  table[StageId(64)].value = 1;
  for (const int id : {0, 1, 63, 65, 128, -64}) EXPECT_FALSE(table.contains(StageId(id))) << id;
  EXPECT_TRUE(table.contains(StageId(64)));
  EXPECT_EQ(table.Find(StageId(65)), nullptr);
}

TEST(DenseTableTest, GapsCostLittleAndAreNotVisited) {
  Table table;
  for (const std::int64_t id : {std::int64_t{3}, std::int64_t{1} << 40, std::int64_t{1} << 61})
    table[StageId(id)].value = 1;
  std::set<StageId> seen;
  table.ForEach([&seen](const Record& record) { seen.insert(record.id); });
  EXPECT_EQ(seen,
            (std::set<StageId>{StageId(3), StageId(std::int64_t{1} << 40), StageId(std::int64_t{1} << 61)}));
  EXPECT_EQ(table.size(), 3u);
}

}  // namespace
}  // namespace inlier
