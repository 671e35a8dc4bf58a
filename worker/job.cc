#include "worker/job.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

// The length of the job, where Slurm gives both of its times.
std::optional<std::int64_t> LengthSeconds(const std::function<std::string(const char*)>& variable) {
  std::int64_t start = 0, end = 0;
  if (!absl::SimpleAtoi(variable("SLURM_JOB_START_TIME"), &start) ||
      !absl::SimpleAtoi(variable("SLURM_JOB_END_TIME"), &end) || end <= start || start <= 0)
    return std::nullopt;
  return end - start;
}

// The part of the job's time for attempts that yield: checkpoints are written and sent. As a fleet's notice.
constexpr std::int64_t kNoticeSeconds = 120;

}  // namespace

WorkerJob FindJob(const v1::WorkerConfig& config, const std::function<std::string(const char*)>& variable,
                  Timestamp started) {
  WorkerJob job;
  const std::string array = variable("SLURM_ARRAY_JOB_ID"), index = variable("SLURM_ARRAY_TASK_ID");
  job.id = array.empty() || index.empty() ? variable("SLURM_JOB_ID") : absl::StrCat(array, "_", index);
  if (config.has_job_seconds()) {
    job.ends = started + std::chrono::seconds(config.job_seconds());
  } else if (!job.id.empty()) {
    if (const std::optional<std::int64_t> length = LengthSeconds(variable))
      job.ends = started + std::chrono::seconds(*length - std::min(kNoticeSeconds, *length / 2));
  }
  return job;
}

}  // namespace inlier
