// A worker in a job of a cluster: when it ends, and what it reports of that.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/worker_process.h"

namespace inlier {

void WorkerProcess::RunIn(Job job) {
  slots_ = job.slots;
  slowness_ = std::min(slowness_, 3);  // No attempt needs most of a job without saving anything.
  job_.emplace().job = std::move(job);
}

void WorkerProcess::Terminate() {
  if (!alive_ || !job_) return;
  job_->asked = true;
  WakeAt(world_.now());  // Where it is paused or hangs, it hears of it afterwards.
}

void WorkerProcess::Drain(bool draining) {
  if (!job_) {
    draining_ = draining;
  } else if (draining) {
    Terminate();
  }
}

void WorkerProcess::CheckJob() {
  if (!job_ || job_->ending || (!job_->asked && Local() < job_->ends)) return;
  world_.Note(absl::StrCat("worker ", incarnation_, " ends, ",
                           job_->asked ? "as it is asked to" : "because its job's time is over"));
  world_.Count("workers that ended with their jobs");
  job_->ending = draining_ = true;
  job_->since = world_.now();
  checks_.clear();
  AskAllToEnd();
  heartbeat_at_ = world_.now();
}

void WorkerProcess::Exit() {
  alive_ = false;
  EndStream();
  job_->job.exited();
}

void WorkerProcess::FillJob(v1::WorkerSync& sync) const {
  sync.set_job(job_->job.id);
  const Duration left = std::max(Duration(0), job_->ends - Local());
  sync.set_job_seconds_left(
      static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(left).count()));
}

}  // namespace inlier
