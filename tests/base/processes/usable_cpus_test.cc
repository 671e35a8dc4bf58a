#include "base/processes/usable_cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <thread>

namespace inlier {
namespace {

using testing::ElementsAre;

TEST(UsableCpusTest, AQuotaAllowsWholeCpus) {
  EXPECT_EQ(CpusOfQuota("max 100000"), std::nullopt);
  EXPECT_EQ(CpusOfQuota("200000 100000\n"), 2);
  EXPECT_EQ(CpusOfQuota("250000 100000"), 2);
  EXPECT_EQ(CpusOfQuota("50000 100000"), 1);
  EXPECT_EQ(CpusOfQuota("1e300 1"), 1000000);
  EXPECT_EQ(CpusOfQuota(""), std::nullopt);
  EXPECT_EQ(CpusOfQuota("nonsense"), std::nullopt);
}

TEST(UsableCpusTest, OnlyCpusOfTheAffinityMaskAreUsed) {
  UsableCpus narrowed;
  const int first = FindUsableCpus().bound_to.front();
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);  // Of this thread alone.
    narrowed = FindUsableCpus();
  }).join();
  EXPECT_THAT(narrowed.bound_to, ElementsAre(first));
  EXPECT_EQ(narrowed.count, 1);
}

TEST(UsableCpusTest, AJobOfSlurmKeepsToItsNumberOfCpus) {
  const UsableCpus all = FindUsableCpus();
  ::setenv("SLURM_CPUS_ON_NODE", "1", 1);
  const UsableCpus job = FindUsableCpus();
  ::setenv("SLURM_CPUS_ON_NODE", "100000", 1);
  EXPECT_EQ(FindUsableCpus().count, all.count);
  ::setenv("SLURM_CPUS_ON_NODE", "many", 1);
  EXPECT_EQ(FindUsableCpus().count, all.count);
  ::unsetenv("SLURM_CPUS_ON_NODE");
  EXPECT_EQ(job.count, 1);
  EXPECT_EQ(job.bound_to, all.bound_to);
}

}  // namespace
}  // namespace inlier
