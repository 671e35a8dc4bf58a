#include "coordinator/state/data_table.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

TEST(DataTableTest, VersionsBelongToTheSourceOfTheirNames) {
  DataTable table;
  const DataId a = table.Add({.id = table.NextId(), .names = "a"}).id;
  const DataId b = table.Add({.id = table.NextId(), .names = "b"}).id;
  const DataId a1 = table.Add({.id = table.NextId(), .names = "a", .digest = Digest{1}}).id;
  const DataId b1 = table.Add({.id = table.NextId(), .names = "b", .digest = Digest{1}}).id;
  EXPECT_EQ(table.FindSource("a"), a);
  EXPECT_FALSE(table.FindSource("c"));
  EXPECT_EQ(table.FindVersion(a, Digest{1}), a1);
  EXPECT_EQ(table.FindVersion(b, Digest{1}), b1);
  EXPECT_FALSE(table.FindVersion(a, Digest{2}));
  EXPECT_EQ(table.SourceOf(a1), a);
  EXPECT_EQ(table.SourceOf(a), a);
  EXPECT_TRUE(table.IsKnown(a1));
  EXPECT_FALSE(table.IsKnown(a));
}

TEST(DataTableTest, AnOlderFindingDoesNotReplaceALaterOne) {
  DataTable table;
  const DataId a = table.Add({.id = table.NextId(), .names = "a"}).id;
  const DataId first = table.Add({.id = table.NextId(), .names = "a", .digest = Digest{1}}).id;
  const DataId second = table.Add({.id = table.NextId(), .names = "a", .digest = Digest{2}}).id;
  table.Found(second, 7);
  table.Found(first, 6);
  EXPECT_EQ(table.source(a).latest, second);
  EXPECT_EQ(table.source(first).as_of, 7u);
  table.Found(first, 8);
  EXPECT_EQ(table.source(a).latest, first);
}

TEST(DataTableTest, ASourceIsMarkedOnce) {
  DataTable table;
  const DataId a = table.Add({.id = table.NextId(), .names = "a"}).id;
  EXPECT_FALSE(table.AnyDiffers());
  EXPECT_TRUE(table.MarkDiffers(a));
  EXPECT_FALSE(table.MarkDiffers(a));
  EXPECT_TRUE(table.AnyDiffers());
}

}  // namespace
}  // namespace inlier
