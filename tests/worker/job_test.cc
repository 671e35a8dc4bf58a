#include "worker/job.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace inlier {
namespace {

using std::chrono::seconds;

constexpr Timestamp kStarted{std::chrono::hours(3)};

WorkerJob Find(const std::map<std::string, std::string>& environment,
               std::optional<std::uint32_t> job_seconds = {}) {
  v1::WorkerConfig config;
  if (job_seconds) config.set_job_seconds(*job_seconds);
  return FindJob(
      config,
      [&](const char* name) {
        const auto at = environment.find(name);
        return at == environment.end() ? std::string() : at->second;
      },
      kStarted);
}

TEST(WorkerJobTest, WithoutAnEngineThereIsNone) {
  EXPECT_EQ(Find({}).id, "");
  EXPECT_FALSE(Find({}).ends.has_value());
}

TEST(WorkerJobTest, AJobOfAnArrayIsNamedAsTheQueueShowsIt) {
  EXPECT_EQ(Find({{"SLURM_JOB_ID", "19"}}).id, "19");
  EXPECT_EQ(Find({{"SLURM_JOB_ID", "19"}, {"SLURM_ARRAY_JOB_ID", "17"}, {"SLURM_ARRAY_TASK_ID", "2"}}).id,
            "17_2");
}

TEST(WorkerJobTest, TheConfigurationComesFirst) {
  const WorkerJob job =
      Find({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_START_TIME", "1000"}, {"SLURM_JOB_END_TIME", "4600"}}, 60);
  EXPECT_EQ(job.ends, kStarted + seconds(60));
}

// A node whose clock is an hour off changes nothing: both times are the controller's.
TEST(WorkerJobTest, TheWorkerEndsTwoMinutesBeforeItsJobCountedFromItsOwnStart) {
  const WorkerJob job = Find(
      {{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_START_TIME", "1700000000"}, {"SLURM_JOB_END_TIME", "1700003600"}});
  EXPECT_EQ(job.ends, kStarted + seconds(3480));
  EXPECT_EQ(Find({{"SLURM_JOB_ID", "1"},
                  {"SLURM_JOB_START_TIME", "1700000000"},
                  {"SLURM_JOB_END_TIME", "1700000100"}})
                .ends,
            kStarted + seconds(50));
}

TEST(WorkerJobTest, TimesThatMakeNoLengthAreNone) {
  for (const auto& [start, end] :
       {std::pair("", "1700003600"), {"1700000000", ""}, {"5", "4"}, {"0", "4"}, {"x", "4"}}) {
    EXPECT_FALSE(
        Find({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_START_TIME", start}, {"SLURM_JOB_END_TIME", end}}).ends)
        << start << " " << end;
  }
}

}  // namespace
}  // namespace inlier
