#include "coordinator/state/lease_table.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

using std::chrono::seconds;

constexpr Timestamp kBegin{seconds(1000)};

TEST(LeaseTableTest, LeaseEndsOneTermAfterItsGrantAndNotBefore) {
  LeaseTable leases(seconds(16));
  leases.Grant(1, "w", 0, kBegin);
  EXPECT_EQ(leases.NextDeadline(), kBegin + seconds(16));
  EXPECT_TRUE(leases.Expire(kBegin + seconds(16) - Duration(1)).empty());
  const std::vector<Lease> ended = leases.Expire(kBegin + seconds(16));
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].token, 1u);
  EXPECT_EQ(ended[0].worker, "w");
  EXPECT_EQ(leases.Find(1), nullptr);
  EXPECT_TRUE(leases.HeldBy("w").empty());
  EXPECT_EQ(leases.NextDeadline(), std::nullopt);
}

TEST(LeaseTableTest, RenewalMovesEveryLeaseOfTheWorkerAndNoOther) {
  LeaseTable leases(seconds(10));
  leases.Grant(1, "a", 0, kBegin);
  leases.Grant(2, "a", 1, kBegin);
  leases.Grant(3, "b", 0, kBegin);
  EXPECT_EQ(leases.Renew("a", kBegin + seconds(5)), 2);
  const std::vector<Lease> ended = leases.Expire(kBegin + seconds(10));
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].token, 3u);
  EXPECT_EQ(leases.NextDeadline(), kBegin + seconds(15));
  EXPECT_EQ(leases.HeldBy("a"), (std::vector<std::uint64_t>{1, 2}));
}

TEST(LeaseTableTest, RenewalNeverShortensALease) {
  LeaseTable leases(seconds(10));
  leases.Grant(1, "a", 0, kBegin + seconds(5));
  leases.Renew("a", kBegin);
  EXPECT_EQ(leases.NextDeadline(), kBegin + seconds(15));
}

TEST(LeaseTableTest, EndedLeaseCannotBeRenewed) {
  LeaseTable leases(seconds(10));
  leases.Grant(1, "a", 0, kBegin);
  leases.End(1);
  EXPECT_EQ(leases.Renew("a", kBegin + seconds(1)), 0);
  EXPECT_EQ(leases.Find(1), nullptr);
  EXPECT_TRUE(leases.Expire(kBegin + seconds(100)).empty());
}

TEST(LeaseTableTest, LeasesThatEndAtOnceComeEarliestFirstThenByToken) {
  LeaseTable leases(seconds(10));
  leases.Grant(7, "a", 0, kBegin + seconds(1));
  leases.Grant(3, "a", 1, kBegin + seconds(1));
  leases.Grant(9, "b", 0, kBegin);
  std::vector<std::uint64_t> tokens;
  for (const Lease& lease : leases.Expire(kBegin + seconds(60))) tokens.push_back(lease.token);
  EXPECT_EQ(tokens, (std::vector<std::uint64_t>{9, 3, 7}));
}

TEST(LeaseTableTest, SlotIsFreeAgainAfterItsLeaseEnded) {
  LeaseTable leases(seconds(10));
  leases.Grant(1, "a", 4, kBegin);
  EXPECT_EQ(leases.HeldBy("a"), (std::vector<std::uint64_t>{1}));
  EXPECT_TRUE(leases.HeldBy("b").empty());
  leases.End(1);
  leases.Grant(2, "a", 4, kBegin);
  EXPECT_EQ(leases.HeldBy("a"), (std::vector<std::uint64_t>{2}));
}

TEST(LeaseTableDeathTest, TwoLeasesOnOneSlotEndTheProcess) {
  LeaseTable leases(seconds(10));
  leases.Grant(1, "a", 0, kBegin);
  EXPECT_DEATH(leases.Grant(2, "a", 0, kBegin), "check failed");
}

}  // namespace
}  // namespace inlier
