#include "coordinator/state/sweeps/sweep_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace inlier {
namespace {

using testing::ElementsAre;

Sweep SweepNamed(std::int64_t id, const std::string& name, const std::string& request_id = "") {
  Sweep sweep;
  sweep.id = SweepId(id);
  sweep.spec.set_name(name);
  sweep.submission.request_id = request_id;
  return sweep;
}

TEST(SweepTableTest, OfOneNameTheOwnersIsFoundFirst) {
  SweepTable table;
  for (const auto& [id, owner] : {std::pair(1, "ada"), {2, "bob"}, {3, ""}}) {
    Sweep sweep = SweepNamed(id, "gamma");
    sweep.owner = owner;
    table.Add(std::move(sweep));
  }
  EXPECT_EQ(table.FindNewest("gamma", "ada"), SweepId(1));
  EXPECT_EQ(table.FindNewest("gamma", "bob"), SweepId(2));
  EXPECT_EQ(table.FindNewest("gamma", "eve"), SweepId(3));
  EXPECT_EQ(table.FindNewest("gamma", ""), SweepId(3));
}

TEST(SweepTableTest, OfOneNameTheNewestIsFound) {
  SweepTable table;
  table.Add(SweepNamed(1, "gamma"));
  table.Add(SweepNamed(2, "alpha"));
  table.Add(SweepNamed(3, "gamma"));
  EXPECT_EQ(table.FindNewest("gamma", ""), SweepId(3));
  EXPECT_EQ(table.FindNewest("alpha", ""), SweepId(2));
  EXPECT_EQ(table.FindNewest("beta", ""), std::nullopt);
  EXPECT_THAT(table.NewestNames(2), ElementsAre("gamma", "alpha"));
  EXPECT_EQ(table.size(), 3u);
  EXPECT_TRUE(table.contains(SweepId(3)));
  EXPECT_FALSE(table.contains(SweepId(4)));
}

TEST(SweepTableTest, ASweepStaysWhereItIsWhileOthersAreAdded) {
  SweepTable table;
  const Sweep* const first = &table.Add(SweepNamed(1, "first"));
  for (std::int64_t id = 2; id < 1000; ++id) table.Add(SweepNamed(id, "other"));
  EXPECT_EQ(&table.at(SweepId(1)), first);
}

TEST(SweepTableTest, ASweepIsFoundByItsRequestOnceItIsRemembered) {
  SweepTable table;
  const Sweep& sweep = table.Add(SweepNamed(1, "gamma", "r-1"));
  EXPECT_EQ(table.FindRequest("r-1"), std::nullopt);
  table.RememberRequest(sweep);
  EXPECT_EQ(table.FindRequest("r-1"), SweepId(1));
  EXPECT_EQ(table.FindRequest("r-2"), std::nullopt);
}

}  // namespace
}  // namespace inlier
