// The orchestrator on a real store in a folder of its own, with time that only a test advances. Every
// call's changes are committed before its reply is read, invariants are checked after each, and
// Restart() continues from the database.
#ifndef INLIER_TESTS_COORDINATOR_HARNESS_H_
#define INLIER_TESTS_COORDINATOR_HARNESS_H_

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/decisions/orchestrator.h"
#include "coordinator/state/feature.h"
#include "coordinator/status/explain.h"
#include "coordinator/status/status.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/sweeps/control.h"
#include "coordinator/sweeps/edit.h"
#include "coordinator/sweeps/store_analysis.h"
#include "tests/coordinator/hand_worker.h"
#include "tests/coordinator/invariants.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

// An axis of whole numbers.
inline v1::Axis NumberAxis(const std::string& field, const std::vector<double>& values) {
  v1::Axis axis;
  axis.set_field(field);
  for (const double value : values) axis.add_values()->set_number_value(value);
  return axis;
}

inline v1::TrialSpec SpecOf(const v1::Assignment& assignment) {
  v1::TrialSpec spec;
  EXPECT_TRUE(spec.ParseFromString(assignment.spec()));
  return spec;
}

// A sweep of tiny models: `seeds` trainings, each evaluated once for every entry of `bits`.
inline v1::SweepSpec SmallSweep(const std::string& name, int seeds, const std::vector<double>& bits = {8}) {
  v1::SweepSpec sweep;
  sweep.set_name(name);
  v1::TrialSpec& base = *sweep.mutable_base();
  base.mutable_model()->mutable_bert()->set_preset("tiny");
  base.mutable_data()->mutable_text()->set_corpus("kjv");
  base.mutable_training()->set_steps(100);
  std::vector<double> seed_values;
  for (int seed = 1; seed <= seeds; ++seed) seed_values.push_back(seed);
  *sweep.add_axes() = NumberAxis("seed", seed_values);
  *sweep.add_axes() = NumberAxis("quantization.weights.bits", bits);
  return sweep;
}

// A request about one sweep or one trial.
template <typename Request>
Request OfSweep(const std::string& sweep) {
  Request request;
  request.set_sweep(sweep);
  return request;
}
template <typename Request>
Request OfSweep(SweepId sweep) {
  return OfSweep<Request>(sweep.ToString());
}
template <typename Request>
Request OfTrial(const std::string& trial) {
  Request request;
  request.set_trial(trial);
  return request;
}

class Harness {
 public:
  explicit Harness(OrchestratorOptions options = DefaultOptions(),
                   const std::filesystem::path& where = std::filesystem::temp_directory_path())
      : options_(options), folder_(where) {
    Open();
  }

  static OrchestratorOptions DefaultOptions() {
    OrchestratorOptions options;
    options.version = "1.0";
    return options;
  }

  const std::filesystem::path& database_path() const { return database_->path(); }
  Orchestrator& orchestrator() { return *orchestrator_; }
  const State& state() const { return orchestrator_->state(); }
  Moment now() const { return now_; }
  void Advance(Duration d) {
    now_.at += d;
    now_.wall.unix_ms += std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  }
  void TickAfter(Duration d) {
    Advance(d);
    Tick();
  }
  // The clock on the wall is set.
  void SetWall(Duration by) {
    now_.wall.unix_ms += std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
  }
  const Effects& last() const { return last_; }

  // Who makes the calls of people from now on; by default callers are not checked.
  void SetCaller(Caller caller) { caller_ = std::move(caller); }
  static Caller Named(const std::string& name, bool admin = false) {
    return {.name = name, .role = admin ? "admin" : "submit", .peer = "here", .admin = admin};
  }

  absl::StatusOr<v1::SubmitSweepResponse> TrySubmit(const v1::SweepSpec& sweep,
                                                    const std::string& request_id = "",
                                                    std::uint64_t max_trials = 10000, bool again = false) {
    v1::SubmitSweepRequest request;
    if (again) request.set_again(true);
    request.set_request_id(request_id);
    *request.mutable_sweep() = sweep;
    request.set_max_trials(max_trials);
    Effects effects;
    auto response = orchestrator_->OnSubmit(request, now_, effects, std::nullopt, caller_);
    Commit(std::move(effects));
    return response;
  }
  SweepId SubmitAs(const Caller& caller, const v1::SweepSpec& spec) {
    SetCaller(caller);
    return Submit(spec);
  }
  SweepId Submit(const v1::SweepSpec& sweep) {
    return SweepId::Parse(TrySubmit(sweep).value().sweep_id()).value();
  }
  absl::StatusOr<v1::CoordinatorSync> TrySync(const v1::WorkerSync& sync,
                                              const Orchestrator::SyncLimits& limits = {}) {
    Effects effects;
    auto reply = orchestrator_->OnSync(sync, now_, limits, effects);
    Commit(std::move(effects));
    return reply;
  }
  v1::CoordinatorSync Sync(HandWorker& worker, const Orchestrator::SyncLimits& limits = {}) {
    auto reply = TrySync(worker.Sync(), limits).value();
    worker.Take(reply);
    return reply;
  }
  // A worker that has connected, and has what it was leased.
  HandWorker Connect(const std::string& incarnation, std::uint32_t slots = 1) {
    HandWorker worker(incarnation, slots);
    Sync(worker);
    return worker;
  }
  // Submits a sweep, and the worker leases its first stage; the token.
  Token Lease(HandWorker& worker, const v1::SweepSpec& sweep) {
    Submit(sweep);
    Sync(worker);
    return OnlyToken(worker);
  }
  // The only attempt that the worker has after its next sync.
  v1::Assignment Assigned(HandWorker& worker) {
    const v1::CoordinatorSync reply = Sync(worker);
    EXPECT_EQ(reply.desired_size(), 1);
    return reply.desired_size() == 1 ? reply.desired(0) : v1::Assignment();
  }
  // An event of the attempt, or of the worker's only one, comes with its next sync; the answer.
  v1::CoordinatorSync Report(HandWorker& worker, Token token, const v1::TrialEvent& event) {
    worker.Emit(token, event);
    return Sync(worker);
  }
  v1::CoordinatorSync Report(HandWorker& worker, const v1::TrialEvent& event) {
    return Report(worker, OnlyToken(worker), event);
  }
  // The attempt, or the worker's only one, ends well.
  v1::CoordinatorSync Finish(HandWorker& worker, Token token) {
    worker.Finish(token);
    return Sync(worker);
  }
  v1::CoordinatorSync Finish(HandWorker& worker) { return Finish(worker, OnlyToken(worker)); }
  void Tick() {
    Effects effects;
    orchestrator_->Tick(now_, effects);
    Commit(std::move(effects));
  }
  // The process was stopped until now.
  void Standstill() {
    Effects effects;
    orchestrator_->OnStandstill(now_, effects);
    Commit(std::move(effects));
  }
  std::uint64_t CancelSweep(SweepId sweep) {
    return Ask(&Cancel, OfSweep<v1::CancelRequest>(sweep)).value().cancelled();
  }
  std::uint64_t CancelTrial(int trial) {
    return Ask(&Cancel, OfTrial<v1::CancelRequest>(TrialId(trial).ToString())).value().cancelled();
  }
  std::uint64_t RetrySweep(SweepId sweep) {
    return Ask(&Retry, OfSweep<v1::RetryRequest>(sweep)).value().retried();
  }
  std::uint64_t RetryTrial(int trial) {
    return Ask(&Retry, OfTrial<v1::RetryRequest>(TrialId(trial).ToString())).value().retried();
  }
  absl::StatusOr<v1::PauseSweepResponse> PauseSweep(SweepId sweep, bool now = false,
                                                    const std::string& request_id = "") {
    auto request = OfSweep<v1::PauseSweepRequest>(sweep);
    request.set_now(now);
    request.set_request_id(request_id);
    return Ask(&inlier::PauseSweep, request);
  }
  // True when it was paused.
  bool ResumeSweep(SweepId sweep) {
    return Ask(&inlier::ResumeSweep, OfSweep<v1::ResumeSweepRequest>(sweep)).value().changed();
  }
  absl::StatusOr<v1::EditSweepResponse> EditSweep(SweepId sweep, const v1::SweepSpec& spec,
                                                  const std::string& request_id = "",
                                                  std::uint64_t max_trials = 10000) {
    auto request = OfSweep<v1::EditSweepRequest>(sweep);
    *request.mutable_spec() = spec;
    request.set_request_id(request_id);
    request.set_max_trials(max_trials);
    return Ask(&inlier::EditSweep, request);
  }
  // Rows as the database has them, a line each, columns apart by "|".
  std::string Query(const std::string& sql) {
    SQLite::Statement rows(database_->connection(), sql);
    std::string text;
    while (rows.executeStep()) {
      for (int i = 0; i < rows.getColumnCount(); ++i)
        text += (i == 0 ? "" : "|") + rows.getColumn(i).getString();
      text += "\n";
    }
    return text;
  }
  // The current content of the store.
  absl::StatusOr<Snapshot> Load() { return store_->Load(); }
  // Any other request of a user; `change` is a function of sweeps/.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Ask(absl::StatusOr<Response> (*change)(Context&, const Request&, const Caller&),
                               const Request& request) {
    Effects effects;
    absl::StatusOr<Response> response = orchestrator_->Change(change, request, now_, effects, caller_);
    Commit(std::move(effects));
    return response;
  }
  v1::SweepStatus Status(SweepId sweep, bool with_spec = false) const {
    return StatusOf(state(), sweep, now_.at, with_spec);
  }
  // The view of a watcher, with the notices after number `from`.
  v1::SweepUpdate Describe(SweepId sweep, std::uint64_t from = 0) const {
    return DescribeSweep(state(), sweep, now_, from);
  }
  std::vector<std::string> Notices(SweepId sweep) const {
    const v1::SweepUpdate update = Describe(sweep);
    return {update.notices().begin(), update.notices().end()};
  }
  // The text of `inlier why`.
  std::string Why(SweepId sweep) const { return Why(OfSweep<v1::ExplainRequest>(sweep)); }
  std::string Why(const std::string& trial) const { return Why(OfTrial<v1::ExplainRequest>(trial)); }

  // As a coordinator with other options, such as another version.
  void RestartAs(OrchestratorOptions options) {
    options_ = std::move(options);
    Restart();
  }
  // The coordinator dies and comes back on the same folder. Its state afterwards equals its state before.
  void Restart() {
    const std::string before = DurableState(state());
    Crash();
    EXPECT_EQ(DurableState(state()), before);
  }

  // And the worker syncs.
  void Restart(HandWorker& worker) {
    Restart();
    Sync(worker);
  }

  // The same when something was not committed: it is gone.
  void Crash() {
    orchestrator_.reset();
    store_.reset();
    database_.reset();
    Open();
  }

  // Changes the store dropped because their token was not live: none, since the orchestrator drops them
  // before.
  std::uint64_t fenced() const { return fenced_; }

  // From now on a test looks at them when it wants: deriving them walks every trial.
  void SkipInvariants() { skip_invariants_ = true; }

  void Commit(Effects effects) {
    if (!effects.changes.empty()) {
      const auto stats = store_->Apply(effects.changes).value();
      fenced_ += stats.fenced;
    }
    if (!skip_invariants_) CheckInvariants(state());
    last_ = std::move(effects);
  }

 private:
  std::string Why(const v1::ExplainRequest& request) const {
    return Explain(state(), request, now_).value().DebugString();
  }
  void Open() {
    database_ = Database::Open(folder_.path()).value();
    store_ = std::make_unique<Store>(*database_);
    auto snapshot = store_->Load().value();
    orchestrator_ = std::make_unique<Orchestrator>(options_);
    Effects effects;
    ASSERT_EQ(orchestrator_->Recover(std::move(snapshot), now_, effects), absl::OkStatus());
    Commit(std::move(effects));
  }

  OrchestratorOptions options_;
  TemporaryFolder folder_;
  Moment now_{Timestamp{std::chrono::hours(1)}, WallTime{1'700'000'000'000}};
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Orchestrator> orchestrator_;
  Effects last_;
  std::uint64_t fenced_ = 0;
  Caller caller_;
  bool skip_invariants_ = false;
};

// The worker answers checks of data until no sweep waits for one, and the trials that waited are made.
inline void CheckData(Harness& harness, HandWorker& worker) {
  for (int round = 0; round < 10 && !harness.state().data_waits.sweeps.empty(); ++round) {
    harness.Sync(worker);
    harness.Sync(worker);
    harness.Tick();
  }
  EXPECT_TRUE(harness.state().data_waits.sweeps.empty());
}

// Runs everything that is ready, one round at a time, until nothing is left; how many attempts it took.
inline std::uint64_t RunAll(Harness& harness, HandWorker& worker) {
  std::uint64_t attempts = 0;
  for (int round = 0; round < 1000; ++round) {
    for (int tick = 0; tick < 10; ++tick) {
      harness.Tick();
      const std::optional<Timestamp> due = NextDeadline(harness.state());
      if (!due || *due > harness.now().at) break;
    }
    const bool checks = !worker.checked().empty();
    harness.Sync(worker);
    if (!checks && worker.running().empty() && worker.outbox().empty() && worker.checked().empty())
      return attempts;
    attempts += worker.FinishAll();
  }
  ADD_FAILURE() << "it does not end";
  return attempts;
}

// A worker "w" with so much memory, and a GPU with so much.
inline HandWorker Machine(std::uint64_t memory_mib, std::uint32_t slots, std::uint64_t gpu_memory_mib = 0) {
  HandWorker worker("w", slots);
  if (gpu_memory_mib > 0) worker.ShareGpu(gpu_memory_mib);
  if (memory_mib > 0) worker.fields().set_memory_mib(memory_mib);
  return worker;
}

// A coordinator and a worker of one slot.
struct OneWorkerTest : testing::Test {
  // Submits a sweep, and the worker leases its first stage; the token.
  Token Lease(const v1::SweepSpec& spec = SmallSweep("s", 1)) {
    sweep = harness.Submit(spec);
    harness.Sync(worker);
    return OnlyToken(worker);
  }
  // The same of another worker, and as many as it has slots.
  void Lease(const v1::SweepSpec& spec, HandWorker with) {
    worker = std::move(with);
    sweep = harness.Submit(spec);
    harness.Sync(worker);
  }

  Harness harness;
  HandWorker worker{"w", 1};
  // The sweep of the last Lease().
  SweepId sweep;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_HARNESS_H_
