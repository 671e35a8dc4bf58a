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
#include "coordinator/decisions/tick.h"
#include "coordinator/status/status.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/sweeps/control.h"
#include "coordinator/sweeps/edit.h"
#include "coordinator/sweeps/store_analysis.h"
#include "tests/coordinator/invariants.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

// An axis of whole numbers.
inline v1::Axis NumberAxis(const std::string& field, const std::vector<double>& values) {
  v1::Axis axis;
  axis.set_field(field);
  for (const double value : values) axis.add_values()->set_number_value(value);
  return axis;
}

// A sweep of tiny models: `seeds` trainings, each evaluated once for every entry of `bits`.
inline v1::TrialSpec SpecOf(const v1::Assignment& assignment) {
  v1::TrialSpec spec;
  EXPECT_TRUE(spec.ParseFromString(assignment.spec()));
  return spec;
}

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

inline v1::TrialEvent OutcomeEvent(v1::Outcome::Kind kind) {
  v1::TrialEvent event;
  event.mutable_outcome()->set_kind(kind);
  return event;
}

inline v1::TrialEvent FailureEvent(v1::FailureClass failure, const std::string& message) {
  v1::TrialEvent event = OutcomeEvent(v1::Outcome::FAILED);
  event.mutable_outcome()->set_failure(failure);
  event.mutable_outcome()->set_message(message);
  return event;
}

// It ran out of memory of the machine; `peak_mib` 0: not measured.
inline v1::TrialEvent OutOfMemoryEvent(std::uint64_t peak_mib) {
  v1::TrialEvent event = FailureEvent(v1::OUT_OF_MEMORY, "too large");
  if (peak_mib > 0) event.mutable_outcome()->set_peak_memory_mib(peak_mib);
  return event;
}

inline v1::TrialEvent CheckpointEvent(std::uint64_t step, bool final, char digit = 'a') {
  v1::TrialEvent event;
  v1::CheckpointSaved& saved = *event.mutable_checkpoint();
  saved.set_step(step);
  saved.set_path(final ? "model.safetensors" : "step-" + std::to_string(step) + ".safetensors");
  saved.set_sha256(std::string(64, digit));
  saved.set_bytes(1000);
  saved.set_final(final);
  return event;
}

inline v1::TrialEvent StartedEvent(const std::string& dataset_digest) {
  v1::TrialEvent event;
  event.mutable_started()->set_dataset_digest(dataset_digest);
  return event;
}

inline v1::TrialEvent MeasurementEvent(const std::string& name, double value, bool final) {
  v1::TrialEvent event;
  v1::MeasurementPoint& point = *event.mutable_measurement();
  point.set_name(name);
  point.set_value(value);
  point.set_step(100);
  point.set_final(final);
  return event;
}

// A worker's side of the protocol, by hand.
class HandWorker {
 public:
  HandWorker(std::string incarnation, std::uint32_t slots) : slots_(slots) {
    sync_.set_incarnation(incarnation);
    sync_.set_name("worker-" + incarnation);
    sync_.set_host("here");
    sync_.set_version("1.0");
  }

  // Its next sync: everything it runs, every event that is not acknowledged.
  v1::WorkerSync Sync() {
    v1::WorkerSync sync = sync_;
    sync.set_sync_id(++sync_id_);
    for (std::uint32_t i = 0; i < slots_; ++i) {
      v1::Slot& slot = *sync.add_slots();
      slot.set_index(i);
      slot.set_device(device_);
      slot.set_threads(1);
      if (device_memory_mib_ > 0) slot.set_device_memory_mib(device_memory_mib_);
    }
    for (const auto& [token, assignment] : running_) {
      v1::AttemptReport& report = *sync.add_attempts();
      report.set_token(token);
      report.set_stage_id(assignment.stage_id());
      report.set_slot(assignment.slot());
      *report.mutable_further_slots() = assignment.further_slots();
      *report.mutable_progress() = progress_[token];
    }
    for (const v1::NumberedEvent& event : outbox_) *sync.add_events() = event;
    for (const auto& [token, checked] : checked_) *sync.add_data_checked() = checked;
    return sync;
  }

  // Takes an answer: forgets acknowledged events, starts and stops attempts.
  void Take(const v1::CoordinatorSync& reply) {
    std::erase_if(outbox_, [&](const v1::NumberedEvent& event) {
      return event.sequence() <= reply.acknowledged_sequence();
    });
    std::map<Token, v1::Assignment> desired;
    for (const v1::Assignment& assignment : reply.desired()) desired[assignment.token()] = assignment;
    std::erase_if(running_, [&](const auto& entry) { return !desired.contains(entry.first); });
    for (const auto& [token, assignment] : desired) {
      if (!finished_.contains(token)) running_.emplace(token, assignment);
    }
    std::map<Token, v1::DataChecked> checked;
    for (const v1::DataCheck& check : reply.check_data()) {
      v1::DataChecked& answer = checked[check.token()];
      answer.set_token(check.token());
      if (check_data_) check_data_(check, answer);
    }
    checked_ = std::move(checked);
  }

  // How it answers checks of data; without this with the digest of attempts that report none.
  void CheckData(std::function<void(const v1::DataCheck&, v1::DataChecked&)> check) {
    check_data_ = std::move(check);
  }
  const std::map<Token, v1::DataChecked>& checked() const { return checked_; }

  // `event` of the attempt `token` goes to the outbox; an outcome ends the attempt here.
  void Emit(Token token, const v1::TrialEvent& event) {
    v1::NumberedEvent& numbered = outbox_.emplace_back();
    numbered.set_sequence(++sequence_);
    numbered.set_token(token);
    *numbered.mutable_event() = event;
    if (event.has_outcome()) {
      finished_.insert(token);
      running_.erase(token);
    }
  }

  // The attempt ends well: with its model, or with a measurement.
  void Finish(Token token) {
    if (running_.at(token).kind() == v1::TRAIN_STAGE) {
      Emit(token, CheckpointEvent(100, true));
    } else {
      Emit(token, MeasurementEvent("perplexity", 12.5, true));
    }
    Emit(token, OutcomeEvent(v1::Outcome::SUCCEEDED));
  }

  void SetProgress(Token token, const std::string& phase, std::uint64_t step) {
    progress_[token].set_phase(phase);
    progress_[token].set_step(step);
    progress_[token].set_steps_total(100);
    progress_[token].set_rate(10);
  }

  // A transfer whose tries fail; nothing of it has come.
  void SetTrouble(Token token, const std::string& phase, const std::string& trouble) {
    progress_[token].Clear();
    progress_[token].set_phase(phase);
    progress_[token].set_trouble(trouble);
  }

  // All its slots are on one GPU with so much memory (0: not reported).
  void ShareGpu(std::uint64_t memory_mib) {
    device_ = "cuda:0";
    device_memory_mib_ = memory_mib;
  }

  v1::WorkerSync& fields() { return sync_; }
  const std::map<Token, v1::Assignment>& running() const { return running_; }
  const std::vector<v1::NumberedEvent>& outbox() const { return outbox_; }

 private:
  v1::WorkerSync sync_;
  std::uint32_t slots_;
  std::string device_ = "cpu";
  std::uint64_t device_memory_mib_ = 0;
  std::uint64_t sync_id_ = 0;
  std::uint64_t sequence_ = 0;
  std::map<Token, v1::Assignment> running_;
  std::map<Token, v1::Progress> progress_;
  std::set<Token> finished_;
  std::vector<v1::NumberedEvent> outbox_;
  std::function<void(const v1::DataCheck&, v1::DataChecked&)> check_data_ =
      [](const v1::DataCheck&, v1::DataChecked& answer) { answer.set_digest(std::string(64, '0')); };
  std::map<Token, v1::DataChecked> checked_;
};

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
  Moment now() const { return now_; }
  void Advance(Duration d) {
    now_.at += d;
    now_.wall.unix_ms += std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
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
  SweepId Submit(const v1::SweepSpec& sweep) {
    const auto response = TrySubmit(sweep);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *SweepId::Parse(response->sweep_id()) : SweepId();
  }
  absl::StatusOr<v1::CoordinatorSync> TrySync(const v1::WorkerSync& sync) {
    Effects effects;
    auto reply = orchestrator_->OnSync(sync, now_, effects);
    Commit(std::move(effects));
    return reply;
  }
  v1::CoordinatorSync Sync(HandWorker& worker) {
    auto reply = TrySync(worker.Sync());
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok()) return {};
    worker.Take(*reply);
    return *reply;
  }
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
    v1::CancelRequest request;
    request.set_sweep(sweep.ToString());
    const auto response = Ask(&Cancel, request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->cancelled() : 0;
  }
  std::uint64_t RetrySweep(SweepId sweep) {
    v1::RetryRequest request;
    request.set_sweep(sweep.ToString());
    const auto response = Ask(&Retry, request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->retried() : 0;
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
  v1::SweepStatus Status(SweepId sweep) const {
    return StatusOf(orchestrator_->state(), sweep, now_.at, false);
  }

  // As a coordinator with other options, such as another version.
  void RestartAs(OrchestratorOptions options) {
    options_ = std::move(options);
    Restart();
  }
  // The coordinator dies and comes back on the same folder. Its state afterwards equals its state before.
  void Restart() {
    const std::string before = DurableState(orchestrator_->state());
    Crash();
    EXPECT_EQ(DurableState(orchestrator_->state()), before);
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
      const auto stats = store_->Apply(effects.changes);
      ASSERT_TRUE(stats.ok()) << stats.status();
      fenced_ += stats->fenced;
    }
    if (!skip_invariants_) CheckInvariants(orchestrator_->state());
    last_ = std::move(effects);
  }

 private:
  void Open() {
    auto database = Database::Open(folder_.path());
    ASSERT_TRUE(database.ok()) << database.status();
    database_ = *std::move(database);
    store_ = std::make_unique<Store>(*database_);
    auto snapshot = store_->Load();
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    orchestrator_ = std::make_unique<Orchestrator>(options_);
    Effects effects;
    const absl::Status status = orchestrator_->Recover(*std::move(snapshot), now_, effects);
    ASSERT_TRUE(status.ok()) << status;
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
  for (int round = 0; round < 10 && !harness.orchestrator().state().data_waits.sweeps.empty(); ++round) {
    harness.Sync(worker);
    harness.Sync(worker);
    harness.Tick();
  }
  EXPECT_TRUE(harness.orchestrator().state().data_waits.sweeps.empty());
}

// The token of the one attempt that runs on a worker.
inline Token OnlyToken(const HandWorker& worker) {
  EXPECT_EQ(worker.running().size(), 1u);
  return worker.running().empty() ? 0 : worker.running().begin()->first;
}

// Runs everything that is ready, one round at a time, until nothing is left; returns how many attempts it
// took.
inline std::uint64_t RunAll(Harness& harness, HandWorker& worker) {
  std::uint64_t attempts = 0;
  for (int round = 0; round < 1000; ++round) {
    for (int tick = 0; tick < 10; ++tick) {
      harness.Tick();
      const std::optional<Timestamp> due = NextDeadline(harness.orchestrator().state());
      if (!due || *due > harness.now().at) break;
    }
    const bool checks = !worker.checked().empty();
    harness.Sync(worker);
    if (!checks && worker.running().empty() && worker.outbox().empty() && worker.checked().empty())
      return attempts;
    std::vector<Token> tokens;
    for (const auto& [token, assignment] : worker.running()) tokens.push_back(token);
    for (const Token token : tokens) worker.Finish(token);
    attempts += tokens.size();
  }
  ADD_FAILURE() << "it does not end";
  return attempts;
}

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_HARNESS_H_
