#include "core/gang/gang.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <mutex>
#include <thread>

#include "tests/core/gang/ranks.h"

namespace inlier {
namespace {

TEST(GangTest, OneProcessAgreesWithItself) {
  Gang gang;
  const at::Tensor number = at::full({}, 3.0);
  gang.Sum({number});
  gang.Broadcast({number}, 0);
  EXPECT_EQ(number.item<double>(), 3);
  EXPECT_TRUE(gang.Any(true));
  EXPECT_FALSE(gang.Any(false));
  EXPECT_EQ(gang.processes(), 1);
}

TEST(GangTest, SumsAreThoseOfAllRanksForEveryShapeAndType) {
  for (const int processes : {2, 3, 4}) {
    RunRanks(processes, [processes](Gang gang) {
      const double factor = gang.rank() + 1, all = processes * (processes + 1) / 2.0;
      // The second is larger than a bucket, the third is no row after the other in memory.
      const std::vector<at::Tensor> ones = {at::ones({}), at::ones({(16 << 20) / 4 + 5}),
                                            at::ones({3, 5}).t(), at::ones({7}, at::kDouble),
                                            at::ones({2, 2}, at::kLong), at::ones({4})};
      std::vector<at::Tensor> sums;
      for (const at::Tensor& one : ones) sums.push_back(one.mul(factor));
      gang.Sum(sums);
      for (std::size_t i = 0; i < ones.size(); ++i)
        EXPECT_TRUE(at::equal(sums[i], ones[i].mul(all))) << i << " of rank " << gang.rank();
    });
  }
}

// Every address that begins with 127 is this machine's.
TEST(GangTest, RanksOfSeveralMachinesReachEachOtherByTheirAddresses) {
  const TemporaryFolder folder;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&folder, rank] {
      absl::StatusOr<Gang> gang = Gang::Meet({.rank = rank,
                                              .processes = 3,
                                              .meeting = folder / "meeting",
                                              .address = "127.0.0." + std::to_string(rank + 2)},
                                             std::chrono::minutes(2));
      ASSERT_TRUE(gang.ok()) << gang.status();
      const at::Tensor number = at::full({5}, rank + 1.0);
      gang->Sum({number});
      EXPECT_TRUE(at::equal(number, at::full({5}, 6.0)));
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(GangTest, AnAddressOfAnotherMachineIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  std::thread other([&folder] {
    const auto gang =
        Gang::Meet({.rank = 1, .processes = 2, .meeting = folder / "meeting"}, std::chrono::seconds(10));
    EXPECT_EQ(gang.status().code(), absl::StatusCode::kUnavailable);
  });
  const auto gang =
      Gang::Meet({.rank = 0, .processes = 2, .meeting = folder / "meeting", .address = "192.0.2.1"},
                 std::chrono::seconds(10));
  other.join();
  EXPECT_EQ(gang.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(gang.status().message(), testing::HasSubstr("the address 192.0.2.1"));
}

TEST(GangTest, EveryRankHasTheSameBits) {
  std::mutex mutex;
  std::vector<at::Tensor> sums;
  for (int run = 0; run < 2; ++run) {
    RunRanks(4, [&](Gang gang) {
      at::Generator generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(gang.rank()) + 1);
      const at::Tensor numbers = at::randn({10007}, generator, at::kFloat);
      gang.Sum({numbers});
      const std::lock_guard lock(mutex);
      sums.push_back(numbers);
    });
  }
  ASSERT_EQ(sums.size(), 8u);
  for (const at::Tensor& sum : sums) EXPECT_TRUE(at::equal(sum, sums[0]));
}

TEST(GangTest, ARankSendsItsTensorsToTheOthers) {
  RunRanks(3, [](Gang gang) {
    const at::Tensor number = at::full({2, 3}, static_cast<double>(gang.rank()));
    gang.Broadcast({number, at::zeros({0})}, 2);
    EXPECT_TRUE(at::equal(number, at::full({2, 3}, 2.0)));
  });
}

TEST(GangTest, AnyIsTrueWhereItIsOnOneRank) {
  RunRanks(3, [](Gang gang) {
    EXPECT_TRUE(gang.Any(gang.rank() == 1));
    EXPECT_FALSE(gang.Any(false));
  });
}

TEST(GangTest, ARankThatHasEndedBreaksTheCallsOfTheOthers) {
  RunRanks(3, [](Gang gang) {
    gang.Any(false);
    if (gang.rank() == 1) return;
    const at::Tensor number = at::ones({});
    try {
      while (true) gang.Sum({number});
    } catch (const GangBroken& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("has lost another one"));
      return;
    }
  });
}

TEST(GangTest, RanksThatDoNotComeAreAnErrorThatNamesTheMeeting) {
  const TemporaryFolder folder;
  const absl::StatusOr<Gang> gang = Gang::Meet(
      {.rank = 0, .processes = 2, .meeting = folder / "meeting"}, std::chrono::milliseconds(200));
  EXPECT_EQ(gang.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(gang.status().message()), testing::HasSubstr((folder / "meeting").string()));
}

}  // namespace
}  // namespace inlier
