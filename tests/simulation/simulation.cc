#include "tests/simulation/simulation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kSettleStepsMax = 30'000;

}  // namespace

Simulation::Simulation(std::uint64_t seed, const FaultVfs& disk, const std::filesystem::path& template_file)
    : seed_(seed),
      world_(seed),
      oracle_(world_),
      coordinator_(world_, oracle_, disk, template_file),
      people_(world_, oracle_, coordinator_, /*checked=*/seed % 3 == 0) {}

void Simulation::NewWorker(std::size_t place) {
  const std::string name = absl::StrCat("w", place);
  workers_.push_back(std::make_unique<WorkerProcess>(world_, oracle_, coordinator_, name,
                                                     absl::StrCat(name, "-", ++incarnations_)));
  if (places_.size() <= place) places_.resize(place + 1);
  places_[place] = workers_.back().get();
  if (world_.plan().jobs) RunInAJob(place);
}

// When the job is over, another one takes its place.
void Simulation::RunInAJob(std::size_t place) {
  WorkerProcess* const worker = places_[place];
  const auto next = [this, place, worker] {
    if (places_[place] != worker) return;
    NewWorker(place);
    if (world_.calm()) places_[place]->Calm();
    places_[place]->Start();
  };
  worker->RunIn(
      {.id = worker->incarnation(),
       .length = world_.random().Between(minutes(5), minutes(8)),
       .slots = static_cast<std::uint32_t>(1 + world_.random().Below(2)),
       .exited = [this, next] { world_.After(world_.random().Between(seconds(1), seconds(20)), next); }});
}

void Simulation::Run(std::uint64_t steps) {
  coordinator_.Start();
  const auto count = static_cast<std::size_t>(2 + world_.random().Below(3));
  if (world_.plan().jobs) steps *= kJobSteps;
  for (std::size_t place = 0; place < count; ++place) {
    NewWorker(place);
    places_[place]->Start();
  }
  people_.Submit();
  Trouble();
  while (world_.violation().empty() && world_.steps() < steps) world_.Step();
  if (world_.violation().empty()) Settle();
}

// The next trouble, and when to make the one after it.
void Simulation::Trouble() {
  if (world_.calm()) return;
  world_.After(world_.random().Between(milliseconds(50), milliseconds(1500)), [this] { Trouble(); });
  if (world_.Chance(world_.plan().people)) people_.Act();
  TroubleWithWorker();
  TroubleWithCoordinator();
  TroubleWithData();
  if (world_.plan().jobs && coordinator_.up() && world_.Chance(60)) DrainSomeJobs();
}

void Simulation::DrainSomeJobs() {
  JobDrain drain;
  for (const WorkerProcess* worker : places_) {
    if (world_.Chance(300)) drain.jobs.insert(worker->incarnation());
  }
  if (world_.Chance(300)) drain.yield = "its job is drained";
  world_.Count("drains of jobs");
  coordinator_.DrainJobs(drain);
}

void Simulation::TroubleWithWorker() {
  Random& random = world_.random();
  const FaultPlan& plan = world_.plan();
  const std::size_t place = static_cast<std::size_t>(random.Below(static_cast<int>(places_.size())));
  WorkerProcess& worker = *places_[place];
  if (world_.Chance(plan.kill) || world_.Chance(plan.twin)) {
    const bool twin = world_.Chance(300);  // The old one continues, under the same name.
    WorkerProcess* old = &worker;
    NewWorker(place);
    if (!twin && old->alive()) old->Kill(world_.Chance(700) ? places_[place] : nullptr);
    WorkerProcess* fresh = places_[place];
    world_.After(random.Between(Duration(0), seconds(5)), [fresh] { fresh->Start(); });
    return;
  }
  Disturb(worker);
}

void Simulation::Disturb(WorkerProcess& worker) {
  Random& random = world_.random();
  const FaultPlan& plan = world_.plan();
  // Short ones, ones that are longer than a lease, and an hour.
  const auto a_while = [&random] {
    const int which = random.Below(10);
    if (which == 0) return random.Between(minutes(1), minutes(61));
    return which < 5 ? random.Between(seconds(10), seconds(25))
                     : random.Between(milliseconds(100), seconds(10));
  };
  if (world_.Chance(plan.hang)) worker.Hang(a_while());
  if (world_.Chance(plan.pause)) worker.Pause(a_while());
  if (world_.Chance(plan.sleep)) worker.Pause(hours(1));
  if (world_.Chance(plan.drain)) worker.Drain(random.PerMille(500));
  if (world_.Chance(plan.cut_requests)) worker.link().Cut(Link::Way::kRequest, a_while());
  if (world_.Chance(plan.cut_replies)) worker.link().Cut(Link::Way::kReply, a_while());
  if (world_.Chance(plan.cut_both)) {
    const Duration for_long = a_while();
    worker.link().Cut(Link::Way::kRequest, for_long);
    worker.link().Cut(Link::Way::kReply, for_long);
  }
}

// The files are replaced on one machine, or on all of them.
void Simulation::TroubleWithData() {
  if (!world_.Chance(world_.plan().data)) return;
  const int place = world_.random().Below(2 * static_cast<int>(places_.size()));
  world_.ReplaceData(place < static_cast<int>(places_.size()) ? absl::StrCat("w", place) : "");
}

void Simulation::TroubleWithCoordinator() {
  Random& random = world_.random();
  const FaultPlan& plan = world_.plan();
  if (!coordinator_.up()) return;
  if (world_.Chance(plan.crash)) CrashSoon();
  if (world_.Chance(plan.slow_store)) coordinator_.SlowStore(random.Between(seconds(1), seconds(20)));
  if (world_.Chance(plan.full_store)) coordinator_.FullStore(random.Between(milliseconds(500), seconds(40)));
  if (world_.Chance(plan.failing_store)) coordinator_.FailingStore();
  if (world_.Chance(plan.slow_coordinator))
    coordinator_.SlowThread(random.Between(milliseconds(100), seconds(5)));
  if (world_.Chance(plan.wall_jump)) coordinator_.WallJump(random.Below(7'200'000) - 3'600'000);
}

void Simulation::CrashSoon() {
  Random& random = world_.random();
  // Between two steps, at any place of the commit that is under way.
  world_.After(random.Between(Duration(0), milliseconds(200)), [this, end = random.PerMille(300)] {
    if (!coordinator_.up() || world_.calm()) return;
    coordinator_.Crash(end ? CoordinatorProcess::End::kAfterTheCommit : CoordinatorProcess::End::kNow);
    const int which = world_.random().Below(10);
    const Duration down = which == 0  ? world_.random().Between(seconds(20), minutes(20))
                          : which < 4 ? world_.random().Between(seconds(1), seconds(20))
                                      : world_.random().Between(milliseconds(10), seconds(1));
    world_.After(down, [this] {
      if (!coordinator_.up()) coordinator_.Start();
    });
  });
}

bool Simulation::Over() const {
  return coordinator_.up() && coordinator_.Idle() && people_.waiting() == 0 && oracle_.AllOver();
}

// Nothing that people do is left to keep a trial from ending.
void Simulation::LetGo() {
  std::vector<std::string> workers;
  for (const auto& worker : workers_) {
    if (worker->alive()) workers.push_back(worker->incarnation());  // Also one that a twin has replaced.
  }
  people_.LetGo(workers);
  if (coordinator_.up()) coordinator_.DrainJobs({});
  world_.After(seconds(20), [this] { LetGo(); });
}

void Simulation::Settle() {
  world_.Calm();
  coordinator_.Calm();
  people_.link().Mend();
  for (const auto& worker : workers_) {
    if (worker->alive()) worker->Calm();
  }
  for (WorkerProcess* place : places_) {
    if (place->alive()) place->Start();
  }
  if (!coordinator_.up()) coordinator_.Start();
  LetGo();
  const std::uint64_t last = world_.steps() + kSettleStepsMax;
  while (world_.violation().empty() && !Over()) {
    if (world_.steps() >= last || !world_.Step())
      return world_.Violate("without trouble, not everything ends");
  }
  if (!world_.violation().empty()) return;
  // A new process finds the state that this one knew.
  coordinator_.Crash(CoordinatorProcess::End::kNow);
  coordinator_.Start();
  oracle_.CheckEnd();
}

}  // namespace inlier
