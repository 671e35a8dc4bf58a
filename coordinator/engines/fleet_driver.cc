#include "coordinator/engines/fleet_driver.h"

#include <memory>
#include <utility>

#include "base/failpoint.h"

namespace inlier {
namespace {

// After a decision could not be stored.
constexpr Duration kDecideAgain = std::chrono::seconds(5);

// A decision; its callback may come after the driver is gone.
struct Decided {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<absl::StatusOr<FleetStep>> step;
};

}  // namespace

FleetDriver::FleetDriver(std::filesystem::path state_dir, FleetPorts ports)
    : ports_(std::move(ports)), slurm_(std::move(state_dir), [this] { return MustStop(); }) {}

FleetDriver::~FleetDriver() { Stop(); }

void FleetDriver::Start() {
  thread_ = std::thread([this] { Run(); });
}

void FleetDriver::Poke() {
  const std::lock_guard lock(mutex_);
  poked_ = true;
  changed_.notify_all();
}

void FleetDriver::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool FleetDriver::MustStop() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool FleetDriver::Wait(std::optional<Duration> longest) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return stopping_ || poked_; };
  if (longest) {
    changed_.wait_for(lock, *longest, ready);
  } else {
    changed_.wait(lock, ready);
  }
  poked_ = false;
  return !stopping_;
}

absl::StatusOr<FleetStep> FleetDriver::Decide(std::optional<EngineLook> look) {
  const auto decided = std::make_shared<Decided>();
  ports_.decide(std::move(look), [decided](absl::StatusOr<FleetStep> step) {
    const std::lock_guard lock(decided->mutex);
    decided->step = std::move(step);
    decided->changed.notify_all();
  });
  std::unique_lock lock(decided->mutex);
  while (!decided->step) {
    if (decided->changed.wait_for(lock, std::chrono::milliseconds(20)) == std::cv_status::timeout &&
        MustStop())
      return absl::UnavailableError("the coordinator is stopping");
  }
  return *decided->step;
}

void FleetDriver::Act(const FleetStep& step) {
  if (!step.cancel.empty()) {
    const absl::Status status = slurm_.Cancel(step);
    if (!MustStop()) ports_.cancelled(step.cancel, status);
  }
  if (!step.submit) return;
  Failpoint("fleet.submit.before");
  const Submitted submitted = slurm_.Submit(step);
  Failpoint("fleet.submit.after");
  // Where the stop killed sbatch, the next start looks for the jobs.
  if (!MustStop() || submitted.kind == Submitted::Kind::kTaken) ports_.submitted(submitted);
}

void FleetDriver::Run() {
  for (absl::StatusOr<FleetStep> step = Decide(std::nullopt); !MustStop(); step = Decide(std::nullopt)) {
    if (!step.ok()) {
      Wait(kDecideAgain);
      continue;
    }
    if (!step->present) {
      Wait(std::nullopt);
      continue;
    }
    EngineLook look{.began = MonotonicNow()};
    look.jobs = slurm_.List(*step);
    if (MustStop()) return;
    const absl::StatusOr<FleetStep> next = Decide(std::move(look));
    if (next.ok()) Act(*next);
    // After a submission the queue is read again at once.
    if (next.ok() && next->submit) continue;
    Wait(std::chrono::seconds(step->config.look_seconds()));
  }
}

}  // namespace inlier
