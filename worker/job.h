// The job of an engine for clusters (Slurm) that the worker runs in, as its environment and its configuration have it.
#ifndef INLIER_WORKER_JOB_H_
#define INLIER_WORKER_JOB_H_

#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

struct WorkerJob {
  std::string id;                 // "17", "17_3" of an array; empty: it runs in none.
  std::optional<Timestamp> ends;  // The worker ends then; nullopt: it is not known, or there is no job.
};

// `variable(name)`: of the environment; "" where there is none. `started`: when the worker started, which is taken for
// the start of the job: only lengths of time count, so that a node whose clock is wrong changes nothing.
WorkerJob FindJob(const v1::WorkerConfig& config, const std::function<std::string(const char*)>& variable,
                  Timestamp started);

}  // namespace inlier

#endif  // INLIER_WORKER_JOB_H_
