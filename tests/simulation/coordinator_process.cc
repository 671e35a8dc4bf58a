#include "tests/simulation/coordinator_process.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordinator/state/feature.h"
#include "coordinator/store/committer.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/coordinator/invariants.h"

namespace inlier {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kWalBytesMax = 1 << 20;

// DurableState without the workers: those that are forgotten in memory are still in the store.
std::string WithoutWorkers(const std::string& state) {
  const std::size_t workers = state.find("\nworker ");
  return workers == std::string::npos ? state : state.substr(0, workers + 1);
}

// A line that only one of the two has.
std::string FirstDifference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string l, r;
  while (true) {
    const bool more_left = static_cast<bool>(std::getline(left, l));
    const bool more_right = static_cast<bool>(std::getline(right, r));
    if (!more_left && !more_right) return "no difference";
    if (!more_left) l = "(nothing)";
    if (!more_right) r = "(nothing)";
    if (l != r) return absl::StrCat("\"", l, "\" in memory before, \"", r, "\" recovered");
  }
}

}  // namespace

OrchestratorOptions CoordinatorProcess::Options() {
  OrchestratorOptions options;
  options.version = "1.0";
  options.stall = seconds(40);
  options.data_wait = seconds(60);
  options.expand_at_submit = 2;
  options.expand_per_tick = 2;
  options.expand_ahead = 3;
  options.materialised_trials_max = 12;
  options.callers["alice"].set_max_parallel(1);
  options.callers["*"].set_max_parallel(2);
  return options;
}

CoordinatorProcess::CoordinatorProcess(World& world, Oracle& oracle, const FaultVfs& disk,
                                       const std::filesystem::path& template_file)
    : world_(world), oracle_(oracle), disk_(disk), folder_(MemoryFolder()) {
  std::filesystem::create_directory(folder_ / "0");
  std::filesystem::copy_file(template_file, folder_ / "0" / "inlier.db");
  careful_ = world_.random().PerMille(150);
}

CoordinatorProcess::~CoordinatorProcess() {
  oracle_.Unwatch();
  disk_.SetFull(false);
  disk_.SetSyncFails(false);
}

Moment CoordinatorProcess::Now() const {
  const Timestamp at = world_.now() + clock_offset_;
  const auto ms = std::chrono::duration_cast<milliseconds>(world_.now().since_start).count();
  return {at, WallTime{kWallAtStartMs + ms + wall_offset_ms_}};
}

CommitterHealth CoordinatorProcess::Health() const {
  CommitterHealth health;
  health.status = health_;
  health.accepts_bulk = queue_->bulk_bytes() < (world_.plan().tiny_bulk ? 2000u : 1u << 20);
  return health;
}

void CoordinatorProcess::Start() {
  const std::string folder = absl::StrCat(life_);
  const bool fresh = database_ == nullptr;
  if (fresh) {
    auto database = Database::Open(folder_ / folder);
    if (!database.ok())
      return world_.Violate(absl::StrCat("the database does not open: ", database.status().ToString()));
    database_ = *std::move(database);
    oracle_.Watch(database_->connection());
  }
  ++life_;
  std::filesystem::rename(folder_ / folder, folder_ / absl::StrCat(life_));
  store_ = std::make_unique<Store>(*database_);
  auto snapshot = store_->Load();
  if (!snapshot.ok())
    return world_.Violate(absl::StrCat("the state does not load: ", snapshot.status().ToString()));
  if (const absl::Status same = ReplayPruning(*snapshot); !same.ok())
    return world_.Violate(absl::StrCat("stored verdicts come out otherwise: ", same.ToString()));
  clock_offset_ = world_.random().Between(seconds(-3000), seconds(10000));
  health_ = absl::OkStatus();
  tries_ = 0;
  control_committed_ = 0;
  gate_ = std::make_unique<ReleaseGate>();
  listeners_ = Listeners();
  queue_ = std::make_unique<CommitQueue>();
  orchestrator_ = std::make_unique<Orchestrator>(Options());
  world_.Note(absl::StrCat("coordinator starts, life ", life_));
  oracle_.CoordinatorStarts(fresh);
  Effects effects;
  const absl::Status status = orchestrator_->Recover(*std::move(snapshot), Now(), effects);
  if (!status.ok()) return world_.Violate(absl::StrCat("it does not recover: ", status.ToString()));
  CheckRecovered();
  if (careful_) states_[0] = WithoutWorkers(DurableState(orchestrator_->state()));
  Deliver(std::move(effects), nullptr, nullptr);
}

void CoordinatorProcess::CheckRecovered() {
  if (expected_.empty()) return;
  const std::string state = WithoutWorkers(DurableState(orchestrator_->state()));
  if (std::find(expected_.begin(), expected_.end(), state) == expected_.end()) {
    world_.Violate(absl::StrCat("recovered state is not the committed state: ",
                                FirstDifference(expected_.front(), state)));
  }
  world_.Count("recoveries compared");
  expected_.clear();
}

// The state that Start must find, as far as it is known.
void CoordinatorProcess::Remember() {
  expected_.clear();
  if (Idle()) {
    expected_.push_back(WithoutWorkers(DurableState(orchestrator_->state())));
  } else if (careful_) {
    if (const auto at = states_.find(control_committed_); at != states_.end())
      expected_.push_back(at->second);
  }
}

void CoordinatorProcess::Crash(End end) {
  INLIER_CHECK(up());
  world_.Note(end == End::kNow ? "coordinator is killed" : "coordinator is killed after a commit");
  world_.Count("coordinator crashes");
  if (end == End::kAfterTheCommit && !group_.empty()) {
    std::vector<const ChangeBatch*> batches;
    for (const QueuedBatch& queued : group_) batches.push_back(&queued.batch);
    disk_.SetFull(world_.now() < full_until_);
    if (store_->Apply(batches).ok()) {
      oracle_.Committed();
      for (const QueuedBatch& queued : group_) {
        if (queued.done) queued.done(absl::CancelledError("unheard"));
      }
      group_.clear();
    } else {
      oracle_.RolledBack();
    }
    disk_.SetFull(false);
  }
  if (expected_.empty()) Remember();
  group_.clear();
  world_.Count("batches lost", queue_->batches());
  orchestrator_.reset();
  gate_.reset();
  queue_.reset();
  store_.reset();
  states_.clear();
  armed_.reset();
  ++armings_;
  // As a kill leaves the files: the log is not moved into the database, and SQLite finds it there.
  if (fails_ || world_.random().PerMille(150)) {
    const std::filesystem::path old = folder_ / absl::StrCat(life_);
    const std::filesystem::path image = folder_ / "image";
    std::filesystem::create_directory(image);
    for (const char* name : {"inlier.db", "inlier.db-wal"}) {
      if (std::filesystem::exists(old / name)) std::filesystem::copy_file(old / name, image / name);
    }
    oracle_.Unwatch();
    database_.reset();
    std::filesystem::remove_all(old);
    std::filesystem::rename(image, old);
    world_.Count("crash images opened");
  }
  fails_ = false;
}

void CoordinatorProcess::Sync(const v1::WorkerSync& sync, bool by_stream, Reply<v1::CoordinatorSync> reply) {
  listeners_.Remove(sync.incarnation());
  oracle_.SyncArrives(sync);
  Orchestrator::SyncLimits limits = SyncLimitsUnder(Health());
  limits.by_stream = by_stream;
  Effects effects;
  auto response = orchestrator_->OnSync(sync, Now(), limits, effects);
  if (response.ok()) oracle_.AnswerDecided(*response);
  Deliver(std::move(effects), &sync,
          [this, sync, response = std::move(response), reply = std::move(reply)](absl::Status status) {
            if (status.ok() && response.ok()) oracle_.ReplyLeaves(sync, *response);
            reply(status.ok() ? response : absl::StatusOr<v1::CoordinatorSync>(status));
          });
}

void CoordinatorProcess::Listen(const std::string& incarnation, Listeners::Place place) {
  listeners_.Add(incarnation, std::move(place));
  oracle_.Listens(incarnation, true);
  orchestrator_->SetListening(incarnation, true);
  Deliver(Effects(), nullptr, nullptr);
}

void CoordinatorProcess::Unlisten(const std::string& incarnation, const Listener* ended) {
  if (!listeners_.Remove(incarnation, ended)) return;
  oracle_.Listens(incarnation, false);
  orchestrator_->SetListening(incarnation, false);
}

void CoordinatorProcess::PushWhenCommitted(std::map<std::string, v1::CoordinatorSync> pushes) {
  for (const auto& [incarnation, push] : pushes) {
    oracle_.AnswerDecided(push);
    const Listeners::Place* place = listeners_.Find(incarnation);
    if (place == nullptr) continue;
    gate_->AfterAll([this, incarnation, push, place = *place](const absl::Status& status) {
      if (!status.ok()) return;
      oracle_.PushLeaves(incarnation, push);
      world_.Trace(push.SerializeAsString());
      world_.Count("pushes");
      place.Push(push);
    });
  }
}

void CoordinatorProcess::Submit(const v1::SubmitSweepRequest& request, const Caller& caller,
                                Reply<v1::SubmitSweepResponse> reply) {
  if (!health_.ok()) return reply(health_);
  Decide<v1::SubmitSweepResponse>(
      [&](Orchestrator& orchestrator, Moment now, Effects& effects) {
        auto grid = CheckedGrid(request.sweep());
        INLIER_CHECK(grid.ok());
        auto response = orchestrator.OnSubmit(request, now, effects, *std::move(grid), caller);
        if (response.ok()) oracle_.SubmitDecided(effects);
        return response;
      },
      std::move(reply));
}

void CoordinatorProcess::Deliver(Effects effects, const v1::WorkerSync* sync, ReleaseGate::Reply reply) {
  const bool takes_leases = SyncLimitsUnder(Health()).grant_leases;
  orchestrator_->Offer(Now(), takes_leases, effects);
  for (std::string& line : effects.log) world_.Note(std::move(line));
  if (Idle()) oracle_.CheckLimits();
  oracle_.Decided(effects, sync, takes_leases);
  std::map<std::string, v1::CoordinatorSync> pushes = std::move(effects.pushes);
  const std::string worker = sync != nullptr ? sync->incarnation() : "";
  const std::uint64_t number = gate_->Decided(effects, sync != nullptr ? &worker : nullptr, std::move(reply));
  PushWhenCommitted(std::move(pushes));
  if (number != 0) {
    const bool control = effects.changes.lane == Lane::kControl;
    if (control && careful_) states_[number] = WithoutWorkers(DurableState(orchestrator_->state()));
    queue_->Push(
        std::move(effects.changes),
        [this, number, control, life = life_](absl::Status status) {
          if (control && (status.ok() || absl::IsCancelled(status))) {
            control_committed_ = number;
            states_.erase(states_.begin(), states_.lower_bound(number));
          }
          if (absl::IsCancelled(status)) return;
          world_.After(world_.random().Between(microseconds(1), microseconds(400)),
                       [this, number, status, life] {
                         if (life == life_ && up()) gate_->Settled(number, status);
                       });
        },
        world_.now());
  }
  CheckInvariants(orchestrator_->state());
  Pump();
  Arm();
}

void CoordinatorProcess::DrainJobs(const JobDrain& drain) {
  Effects effects;
  orchestrator_->OnJobDrain(drain, Now(), effects);
  oracle_.JobsDrained(drain.jobs);
  Deliver(std::move(effects), nullptr, nullptr);
}

void CoordinatorProcess::Arm() {
  const std::optional<Timestamp> due = NextDeadline(orchestrator_->state());
  if (!due) return;
  const Timestamp at = std::max(*due + (-clock_offset_), world_.now());
  if (armed_ && *armed_ <= at) return;
  armed_ = at;
  world_.At(std::max(at, stalled_until_), [this, arming = ++armings_] {
    if (arming == armings_ && up()) Tick();
  });
}

void CoordinatorProcess::Tick() {
  armed_.reset();
  Effects effects;
  orchestrator_->Tick(Now(), effects);
  Deliver(std::move(effects), nullptr, nullptr);
}

void CoordinatorProcess::Pump() {
  if (!group_.empty() || queue_->empty()) return;
  group_ = queue_->Take(world_.plan().tiny_groups ? 12 : 4096);
  const Duration takes = world_.now() < slow_until_
                             ? world_.random().Between(milliseconds(100), seconds(4))
                             : world_.random().Between(microseconds(300), milliseconds(5));
  world_.After(takes, [this, life = life_] {
    if (life == life_ && up()) CommitEnds();
  });
}

void CoordinatorProcess::CommitEnds() {
  std::vector<const ChangeBatch*> batches;
  for (const QueuedBatch& queued : group_) batches.push_back(&queued.batch);
  if (fails_) Remember();
  disk_.SetFull(world_.now() < full_until_);
  disk_.SetSyncFails(fails_);
  const absl::StatusOr<ApplyStats> stats = store_->Apply(batches);
  disk_.SetFull(false);
  disk_.SetSyncFails(false);
  if (!stats.ok()) oracle_.RolledBack();
  if (OutcomeOf(stats.status()) != CommitOutcome::kFatal) expected_.clear();
  switch (OutcomeOf(stats.status())) {
    case CommitOutcome::kDurable:
      break;
    case CommitOutcome::kRetry:
      if (health_.ok()) world_.Note("the disk is full");
      health_ = stats.status();
      ++tries_;
      world_.After(world_.random().Between(milliseconds(50), milliseconds(1500)), [this, life = life_] {
        if (life == life_ && up()) CommitEnds();
      });
      return;
    case CommitOutcome::kFatal:
      // The log may hold the transaction, though its end was never acknowledged.
      world_.Note("the disk failed");
      world_.Count("disk failures");
      if (careful_ && !expected_.empty()) {
        for (const auto& [number, state] : states_) expected_.push_back(state);
      } else {
        expected_.clear();
      }
      {
        const std::vector<std::string> expected = expected_;
        Crash(End::kNow);
        expected_ = expected;
      }
      world_.After(world_.random().Between(milliseconds(100), seconds(3)), [this] {
        if (!up()) Start();
      });
      return;
    case CommitOutcome::kRefused:
      return world_.Violate(absl::StrCat("the store refuses what was decided: ", stats.status().ToString()));
  }
  if (!health_.ok()) {
    world_.Note("there is space again");
    world_.Count("disk full, recovered");
  }
  health_ = absl::OkStatus();
  if (stats.ok() && stats->fenced > 0)
    world_.Violate(absl::StrCat(stats->fenced, " changes had a stale token and reached the store"));
  world_.Count("commits");
  oracle_.Committed();
  std::vector<QueuedBatch> group;
  group.swap(group_);
  for (const QueuedBatch& queued : group) {
    if (queued.done) queued.done(absl::OkStatus());
  }
  if (database_->WalBytes() > kWalBytesMax) {
    const absl::Status moved = database_->CheckpointWal(/*truncate=*/true);
    if (!moved.ok()) world_.Violate(absl::StrCat("the log cannot be moved: ", moved.ToString()));
  }
  Pump();
}

void CoordinatorProcess::FullStore(Duration for_long) { full_until_ = world_.now() + for_long; }

void CoordinatorProcess::FailingStore() { fails_ = true; }

void CoordinatorProcess::Calm() {
  slow_until_ = full_until_ = stalled_until_ = world_.now();
  fails_ = false;
}

}  // namespace inlier
