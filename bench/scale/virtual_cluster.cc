#include "bench/scale/virtual_cluster.h"

#include <unistd.h>

#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/version.h"
#include "bench/dispatch/load_report.h"
#include "bench/scale/scale_client.h"
#include "coordinator/state/feature.h"
#include "coordinator/store/committer.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

constexpr Duration kOneWay = std::chrono::milliseconds(1);  // Of a message.
constexpr std::int64_t kWallAtStartMs = 1'700'000'000'000;

double ThreadSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string Name(std::uint32_t index) { return absl::StrFormat("w%06d", index); }
std::uint32_t IndexOf(const std::string& incarnation) {
  return static_cast<std::uint32_t>(std::stoul(incarnation.substr(1)));
}

void Check(const absl::Status& status, const char* doing) {
  if (!status.ok()) Die(absl::StrCat(doing, ": ", status.ToString()));
}

}  // namespace

class VirtualCluster::Meter {
 public:
  explicit Meter(Cost& cost) : cost_(cost), started_(ThreadSeconds()) {}
  ~Meter() {
    ++cost_.calls;
    cost_.seconds += ThreadSeconds() - started_;
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  Cost& cost_;
  const double started_;
};

VirtualCluster::VirtualCluster(const ClusterOptions& options) : options_(options) {
  workers_.resize(options_.workers);
  Deliver(Open(), nullptr, nullptr);
}

Effects VirtualCluster::Open() {
  auto database = Database::Open(options_.state_dir);
  Check(database.status(), "opening the database");
  database_ = *std::move(database);
  store_ = std::make_unique<Store>(*database_);
  OrchestratorOptions decisions;
  decisions.version = Version();
  // The defaults are those of 10,000 workers.
  decisions.materialised_trials_max = 100'000 + 2 * std::uint64_t{options_.workers};
  decisions.workers_per_caller_max = options_.workers;
  orchestrator_ = std::make_unique<Orchestrator>(decisions);
  auto snapshot = store_->Load();
  Check(snapshot.status(), "loading the database");
  Effects effects;
  Check(orchestrator_->Recover(*std::move(snapshot), Now(), effects), "recovering");
  return effects;
}

VirtualCluster::~VirtualCluster() = default;

Moment VirtualCluster::Now() const {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now_.since_start).count();
  return {now_, WallTime{kWallAtStartMs + ms}};
}

void VirtualCluster::At(Timestamp at, What what, std::uint32_t worker, std::uint64_t number) {
  events_.push({at, what, worker, number});
}

void VirtualCluster::Connect(double seconds) {
  for (std::uint32_t i = 0; i < options_.workers; ++i)
    At(now_ + FromSeconds(seconds * i / options_.workers), What::kSync, i, workers_[i].due);
  Run(seconds);
}

void VirtualCluster::Submit() {
  v1::SubmitSweepRequest request;
  request.set_request_id("day");
  request.set_max_trials(SweepGrid::kSizeMax);
  *request.mutable_sweep() = GridSweep("day", 4, 100);
  absl::StatusOr<SweepGrid> grid = CheckedGrid(request.sweep());
  Check(grid.status(), "the sweep");
  Effects effects;
  Check(orchestrator_->OnSubmit(request, Now(), effects, *std::move(grid)).status(), "submitting");
  Deliver(std::move(effects), nullptr, nullptr);
}

void VirtualCluster::Run(double seconds) {
  const Timestamp until = now_ + FromSeconds(seconds);
  while (!events_.empty() && events_.top().at <= until) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    Step(event);
  }
  now_ = until;
}

void VirtualCluster::Step(const Event& event) {
  switch (event.what) {
    case What::kSync:
      if (event.number == workers_[event.worker].due) Sync(event.worker);
      return;
    case What::kEnd:
      if (event.number == workers_[event.worker].ends) End(event.worker);
      return;
    case What::kCommit:
      return Commit();
    case What::kCommitted:
      return Committed();
    case What::kTick:
      if (event.number == armings_) Tick();
      return;
  }
}

void VirtualCluster::Sync(std::uint32_t index) {
  Worker& worker = workers_[index];
  if (worker.waits) {
    worker.again = true;
    return;
  }
  const std::string incarnation = Name(index);
  v1::WorkerSync sync;
  sync.set_incarnation(incarnation);
  sync.set_name(incarnation);
  sync.set_host(incarnation);
  sync.set_version(Version());
  sync.set_sync_id(++worker.sync_id);
  v1::Slot& slot = *sync.add_slots();
  slot.set_index(0);
  slot.set_device("cpu");
  slot.set_threads(1);
  if (worker.running) {
    v1::AttemptReport& report = *sync.add_attempts();
    report.set_token(worker.running->token);
    report.set_stage_id(worker.running->stage);
    report.set_slot(0);
    report.mutable_progress()->set_step(worker.sync_id);
  }
  for (const v1::NumberedEvent& event : worker.events) *sync.add_events() = event;
  worker.waits = true;
  const char* const kind = worker.sync_id == 1     ? "first sync"
                           : worker.events.empty() ? "sync without news"
                                                   : "sync with an end";
  Effects effects;
  absl::StatusOr<v1::CoordinatorSync> answer;
  {
    const Meter meter(costs_[kind]);
    Orchestrator::SyncLimits limits;
    limits.by_stream = true;
    answer = orchestrator_->OnSync(sync, Now(), limits, effects);
  }
  Check(answer.status(), "a sync");
  Deliver(std::move(effects), &incarnation, [this, index, answer = *std::move(answer)](absl::Status status) {
    Check(status, "committing");
    Answer(index, answer);
  });
}

void VirtualCluster::Answer(std::uint32_t index, const v1::CoordinatorSync& answer) {
  Worker& worker = workers_[index];
  std::erase_if(worker.events, [&](const v1::NumberedEvent& event) {
    return event.sequence() <= answer.acknowledged_sequence();
  });
  worker.waits = false;
  Start(index, answer);
  ++worker.due;
  const Duration wait = std::exchange(worker.again, false) || !worker.events.empty()
                            ? 2 * kOneWay
                            : Duration(std::chrono::milliseconds(answer.next_sync_ms()));
  At(now_ + wait, What::kSync, index, worker.due);
  if (!worker.running) {
    orchestrator_->SetListening(Name(index), true);
    Deliver(Effects(), nullptr, nullptr);
  }
}

void VirtualCluster::Start(std::uint32_t index, const v1::CoordinatorSync& answer) {
  Worker& worker = workers_[index];
  for (const v1::Assignment& assignment : answer.desired()) {
    if (assignment.token() <= worker.latest_token) continue;
    worker.latest_token = assignment.token();
    worker.running =
        Running{.token = assignment.token(), .stage = assignment.stage_id(), .train_steps = std::nullopt};
    double mean = options_.evaluate_seconds;
    if (assignment.kind() == v1::TRAIN_STAGE) {
      v1::TrialSpec spec;
      spec.ParseFromString(assignment.spec());
      worker.running->train_steps = spec.training().steps();
      mean = options_.train_seconds;
    }
    const double seconds = mean * std::uniform_real_distribution<>(0.5, 1.5)(random_);
    At(now_ + kOneWay + FromSeconds(seconds), What::kEnd, index, ++worker.ends);
  }
}

void VirtualCluster::End(std::uint32_t index) {
  Worker& worker = workers_[index];
  const Running ended = *std::exchange(worker.running, std::nullopt);
  const auto add = [&]() -> v1::TrialEvent& {
    v1::NumberedEvent& event = worker.events.emplace_back();
    event.set_sequence(++worker.sequence);
    event.set_token(ended.token);
    event.set_stage_id(ended.stage);
    return *event.mutable_event();
  };
  if (ended.train_steps) {
    for (std::uint32_t i = 0; i < options_.points; ++i) {
      v1::MeasurementPoint& point = *add().mutable_measurement();
      point.set_name("train_loss");
      point.set_step(i + 1);
      point.set_value(1.0 / (i + 1));
    }
    v1::CheckpointSaved& saved = *add().mutable_checkpoint();
    saved.set_step(*ended.train_steps);
    saved.set_path("model.safetensors");
    saved.set_sha256(Sha256Hex(ended.stage));
    saved.set_bytes(1);
    saved.set_final(true);
  } else {
    ++ended_;
  }
  add().mutable_outcome()->set_kind(v1::Outcome::SUCCEEDED);
  At(now_ + kOneWay, What::kSync, index, ++worker.due);
}

void VirtualCluster::Deliver(Effects effects, const std::string* worker, ReleaseGate::Reply reply) {
  {
    const Meter meter(costs_["offer of work"]);
    orchestrator_->Offer(Now(), true, effects);
  }
  std::map<std::string, v1::CoordinatorSync> pushes = std::move(effects.pushes);
  const std::uint64_t number = gate_.Decided(effects, worker, std::move(reply));
  for (auto& [incarnation, push] : pushes) {
    const std::uint32_t index = IndexOf(incarnation);
    gate_.AfterAll([this, index, push = std::move(push)](const absl::Status&) { Start(index, push); });
  }
  if (number != 0) {
    const bool idle = queue_.empty() && group_.empty();
    const Meter meter(costs_["queue of commits"]);
    queue_.Push(
        std::move(effects.changes), [this, number](absl::Status status) { gate_.Settled(number, status); },
        now_);
    if (idle) At(now_ + std::chrono::milliseconds(1), What::kCommit);
  }
  Arm();
}

void VirtualCluster::Commit() {
  if (!group_.empty() || queue_.empty()) return;
  const CommitterOptions limits;
  group_ = queue_.Take(limits.commit_rows_max);
  std::vector<const ChangeBatch*> batches;
  for (const QueuedBatch& queued : group_) batches.push_back(&queued.batch);
  const Timestamp started = MonotonicNow();
  {
    const Meter meter(costs_["transaction"]);
    Check(store_->Apply(batches).status(), "a transaction");
  }
  if (database_->WalBytes() > limits.wal_bytes_max) {
    const Meter meter(costs_["move of the log"]);
    Check(database_->CheckpointWal(/*truncate=*/false), "moving the log");
  }
  At(now_ + (MonotonicNow() - started), What::kCommitted);
}

void VirtualCluster::Committed() {
  std::vector<QueuedBatch> group;
  group.swap(group_);
  for (const QueuedBatch& queued : group) {
    if (queued.done) queued.done(absl::OkStatus());
  }
  Commit();
}

void VirtualCluster::Tick() {
  armed_.reset();
  Effects effects;
  {
    const Meter meter(costs_["tick"]);
    orchestrator_->Tick(Now(), effects);
  }
  Deliver(std::move(effects), nullptr, nullptr);
}

void VirtualCluster::Arm() {
  const std::optional<Timestamp> due = NextDeadline(orchestrator_->state());
  if (!due) return;
  const Timestamp at = std::max(*due, now_);
  if (armed_ && *armed_ <= at) return;
  armed_ = at;
  At(at, What::kTick, 0, ++armings_);
}

double VirtualCluster::Restart() {
  events_ = {};
  orchestrator_.reset();
  store_.reset();
  database_.reset();
  const Timestamp started = MonotonicNow();
  Open();
  return ToSeconds(MonotonicNow() - started);
}

nlohmann::json VirtualCluster::Sample() const {
  nlohmann::json costs;
  for (const auto& [kind, cost] : costs_) costs[kind] = {{"calls", cost.calls}, {"seconds", cost.seconds}};
  std::error_code ignored;
  std::uintmax_t bytes = 0;
  for (const char* name : {"inlier.db", "inlier.db-wal"}) {
    const std::uintmax_t size = std::filesystem::file_size(options_.state_dir / name, ignored);
    if (!ignored) bytes += size;
  }
  return {{"seconds", ToSeconds(now_.since_start)}, {"ended", ended_},
          {"mib", ResidentMib(::getpid())},         {"database_bytes", bytes},
          {"queued_rows", queue_.rows()},           {"costs", costs}};
}

}  // namespace inlier
