#include "tests/simulation/driver_process.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/engines/slurm_text.h"

namespace inlier {
namespace {

using std::chrono::seconds;

// After a decision could not be stored.
constexpr Duration kDecideAgain = seconds(5);

// Why a program of Slurm failed; OK where it did not.
absl::Status FailureOf(const char* program, const ProgramEnd& end) {
  if (end.Succeeded()) return absl::OkStatus();
  if (!end.status) return absl::DeadlineExceededError(absl::StrCat(program, " did not end in time"));
  return absl::UnavailableError(absl::StrCat(program, ": ", FirstError(end.errors)));
}

Duration LimitOf(const FleetStep& step) { return seconds(step.config.call_seconds()); }

}  // namespace

DriverProcess::DriverProcess(World& world, CoordinatorProcess& coordinator, SlurmPrograms& programs,
                             std::function<void()> on_submission)
    : world_(world),
      coordinator_(coordinator),
      programs_(programs),
      on_submission_(std::move(on_submission)) {}

template <typename T>
DriverProcess::Done<T> DriverProcess::InThisLife(Done<T> done) const {
  return [this, life = life_, done = std::move(done)](T value) {
    if (Lives(life)) done(std::move(value));
  };
}

void DriverProcess::Start() {
  life_ = coordinator_.life();
  ++waits_;
  waiting_ = poked_ = false;
  Round();
}

void DriverProcess::Poke() {
  poked_ = true;
  if (waiting_) Wait(Duration(0));
}

void DriverProcess::Wait(Duration longest) {
  waiting_ = true;
  if (std::exchange(poked_, false)) longest = Duration(0);
  world_.After(longest, [this, wait = ++waits_, life = life_] {
    if (wait != waits_ || !Lives(life)) return;
    waiting_ = false;
    Round();
  });
}

void DriverProcess::Post(std::function<void()> call) {
  world_.At(coordinator_.stalled_until(), [this, life = life_, call = std::move(call)] {
    if (Lives(life)) call();
  });
}

void DriverProcess::Decide(std::optional<EngineLook> look, Done<absl::StatusOr<FleetStep>> done) {
  Post([this, look = std::move(look), done = InThisLife(std::move(done))] {
    coordinator_.FleetLook(look, done);
  });
}

void DriverProcess::Round() {
  Decide(std::nullopt, [this](absl::StatusOr<FleetStep> step) {
    if (!step.ok() || !step->present) return Wait(kDecideAgain);
    pause_ = seconds(step->config.look_seconds());
    Look(*step);
  });
}

void DriverProcess::Look(const FleetStep& step) {
  const Timestamp began = world_.now();
  const Done<ProgramEnd> listed = InThisLife<ProgramEnd>([this, began, id = step.id](const ProgramEnd& end) {
    EngineLook look{.began = began};
    const absl::Status failure = FailureOf("squeue", end);
    if (failure.ok()) {
      look.jobs = ParseSqueue(id, end.output);
      if (!look.jobs.ok()) world_.Violate(look.jobs.status().ToString());
    } else {
      look.jobs = failure;
    }
    Decide(std::move(look), [this](absl::StatusOr<FleetStep> next) {
      if (!next.ok()) return Wait(pause_);
      Act(*next);
    });
  });
  programs_.Squeue(LimitOf(step), listed);
}

void DriverProcess::Act(const FleetStep& step) {
  if (step.cancel.empty()) return Submit(step);
  const Done<ProgramEnd> cancelled = InThisLife<ProgramEnd>([this, step](const ProgramEnd& end) {
    const bool gone = absl::StrContains(end.errors, "Invalid job id");
    Post([this, jobs = step.cancel, status = gone ? absl::OkStatus() : FailureOf("scancel", end)] {
      coordinator_.FleetCancelled(jobs, status);
    });
    Submit(step);
  });
  programs_.Scancel(step.cancel, LimitOf(step), cancelled);
}

void DriverProcess::Submit(const FleetStep& step) {
  if (!step.submit) return Wait(pause_);
  on_submission_();
  const std::vector<std::string> arguments =
      SbatchArguments(step, "/shared/fleet/worker.sh", step.config.worker_program(), "/shared/fleet");
  const Done<ProgramEnd> submitted =
      InThisLife<ProgramEnd>([this, number = step.submit->number](const ProgramEnd& end) {
        Post([this, submitted = ParseSbatch(number, end)] { coordinator_.FleetSubmitted(submitted); });
        Round();  // The queue is read again at once.
      });
  programs_.Sbatch(arguments, LimitOf(step), submitted);
}

}  // namespace inlier
