// Every request message, in any order, through what handles it: the checks of the service, the orchestrator,
// the store, the reader. An input is a list of records: a byte for the message type, four bytes of
// length, the message. Checked: every change commits, the invariants hold, and the state read from the store
// equals the state in memory.
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "base/check.h"
#include "base/status.h"
#include "coordinator/services/request_limits.h"
#include "coordinator/state/lookup.h"
#include "coordinator/status/explain.h"
#include "coordinator/status/status.h"
#include "coordinator/store/query_guard.h"
#include "fleet/service.h"
#include "results/tables/table_builder.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"
#include "tests/fleet/fleet_config.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzzed_engine.h"
#include "tests/fuzz/records.h"

namespace inlier {
namespace {

enum Kind : unsigned char {
  kSubmit,
  kSync,
  kCancel,
  kRetry,
  kTick,
  kQuery,
  kTable,
  kTrials,
  kLogs,
  kSweep,
  kPause,
  kResume,
  kEdit,
  kDrain,
  kExplain,
  kListen,
  kSetFleet,
  kScaleFleet,
  kStopFleet,
  kLook,
  kKinds
};

using Record = FuzzRecord<Kind>;

std::unique_ptr<google::protobuf::Message> MessageOf(Kind kind) {
  static const std::map<Kind, const google::protobuf::Message*> kMessages = {
      {kSubmit, &v1::SubmitSweepRequest::default_instance()},
      {kSync, &v1::WorkerSync::default_instance()},
      {kCancel, &v1::CancelRequest::default_instance()},
      {kRetry, &v1::RetryRequest::default_instance()},
      {kQuery, &v1::QueryRequest::default_instance()},
      {kTable, &v1::BuildTableRequest::default_instance()},
      {kTrials, &v1::ListTrialsRequest::default_instance()},
      {kLogs, &v1::GetLogsRequest::default_instance()},
      {kSweep, &v1::GetSweepRequest::default_instance()},
      {kPause, &v1::PauseSweepRequest::default_instance()},
      {kResume, &v1::ResumeSweepRequest::default_instance()},
      {kEdit, &v1::EditSweepRequest::default_instance()},
      {kDrain, &v1::DrainWorkerRequest::default_instance()},
      {kExplain, &v1::ExplainRequest::default_instance()},
      {kSetFleet, &v1::SetFleetRequest::default_instance()},
      {kScaleFleet, &v1::ScaleFleetRequest::default_instance()},
      {kStopFleet, &v1::StopFleetRequest::default_instance()},
  };
  const auto found = kMessages.find(kind);
  return std::unique_ptr<google::protobuf::Message>(found == kMessages.end() ? nullptr
                                                                             : found->second->New());
}

class Service {
 public:
  Service() : folder_(MemoryFolder()) {
    folder_.Write("inlier.db", EmptyDatabase());
    Open();
  }

  void Do(const Record& record) {
    const auto message = MessageOf(record.kind);
    if (message != nullptr && !message->ParseFromString(record.bytes)) return;
    if (message != nullptr && !CheckWords(*message).ok()) return;
    Effects effects;
    switch (record.kind) {
      case kSubmit: {
        auto& request = static_cast<v1::SubmitSweepRequest&>(*message);
        request.set_max_trials(std::min<std::uint64_t>(request.max_trials(), 2000));  // For speed.
        if (request.request_id().size() > 256 || !CheckLimits(request.sweep()).ok()) break;
        if (auto grid = CheckedGrid(request.sweep()); grid.ok())
          Clear(orchestrator_->OnSubmit(request, now_, effects, *std::move(grid)).status());
        break;
      }
      case kSync:
        if (CheckLimits(static_cast<const v1::WorkerSync&>(*message)).ok())
          Clear(orchestrator_->OnSync(static_cast<const v1::WorkerSync&>(*message), now_, effects).status());
        break;
      case kPause:
        Decide<v1::PauseSweepRequest>(&PauseSweep, *message, effects);
        break;
      case kResume:
        Decide<v1::ResumeSweepRequest>(&ResumeSweep, *message, effects);
        break;
      case kEdit: {
        auto& request = static_cast<v1::EditSweepRequest&>(*message);
        request.set_max_trials(std::min<std::uint64_t>(request.max_trials(), 2000));
        if (CheckLimits(request.spec()).ok() && CheckedGrid(request.spec()).ok())
          Decide<v1::EditSweepRequest>(&EditSweep, request, effects);
        break;
      }
      case kDrain:
        Decide<v1::DrainWorkerRequest>(&DrainWorker, *message, effects);
        break;
      case kSetFleet:
        return Clear(fleet_->Set(static_cast<const v1::SetFleetRequest&>(*message)).status());
      case kScaleFleet:
        return Clear(fleet_->Scale(static_cast<const v1::ScaleFleetRequest&>(*message)).status());
      case kStopFleet:
        return Clear(fleet_->StopFleet(static_cast<const v1::StopFleetRequest&>(*message)).status());
      case kLook: {
        queue_ = record.bytes;
        fleet_->Round();
        std::string status;
        fleet_->Status().SerializeToString(&status);
        return;
      }
      case kExplain:
        Clear(
            Explain(orchestrator_->state(), static_cast<const v1::ExplainRequest&>(*message), now_).status());
        break;
      case kListen:  // The worker of that name waits on its stream, and what is ready is pushed to it.
        orchestrator_->SetListening(record.bytes, true);
        break;
      case kCancel:
        Decide<v1::CancelRequest>(&Cancel, *message, effects);
        break;
      case kRetry:
        Decide<v1::RetryRequest>(&Retry, *message, effects);
        break;
      case kTick: {
        const Duration step =
            std::chrono::seconds(record.bytes.empty() ? 1 : static_cast<unsigned char>(record.bytes[0]));
        now_.at += step;
        now_.wall.unix_ms += std::chrono::duration_cast<std::chrono::milliseconds>(step).count();
        orchestrator_->Tick(now_, effects);
        break;
      }
      case kQuery: {
        const auto& request = static_cast<const v1::QueryRequest&>(*message);
        QueryLimits limits;
        limits.rows = std::clamp<std::uint32_t>(request.max_rows(), 1, 1000);
        limits.time = std::chrono::milliseconds(500);
        Clear(people_->Query(request.sql(), limits).status());
        break;
      }
      case kTable: {
        const auto& request = static_cast<const v1::BuildTableRequest&>(*message);
        std::vector<SweepId> sweeps;
        absl::StatusOr<SweepId> sweep = reader_->FindSweep(request.sweep(), "");
        for (int i = 0; sweep.ok() && i < std::min(request.more_sweeps_size(), 3); ++i) {
          sweeps.push_back(*sweep);
          sweep = reader_->FindSweep(request.more_sweeps(i), "");
        }
        if (!sweep.ok()) return Clear(sweep.status());
        sweeps.push_back(*sweep);
        Clear(BuildTable(*reader_, sweeps, request.table()).status());
        break;
      }
      case kTrials:
        Clear(reader_->ListTrials(static_cast<const v1::ListTrialsRequest&>(*message), "").status());
        break;
      case kLogs: {
        const auto& request = static_cast<const v1::GetLogsRequest&>(*message);
        const auto trial = reader_->FindTrial(request.trial());
        if (!trial.ok()) return Clear(trial.status());
        const auto lines = std::clamp<std::uint32_t>(request.max_lines(), 1, 1000);
        Clear(reader_->Logs(*trial, request.after_line(), lines, request.newest()).status());
        break;
      }
      case kSweep: {
        const auto sweep =
            FindSweep(orchestrator_->state(), static_cast<const v1::GetSweepRequest&>(*message).sweep(), "");
        if (!sweep.ok()) return Clear(sweep.status());
        std::uint64_t from = 0;
        std::string json;
        StatusOf(orchestrator_->state(), *sweep, now_.at, true).SerializeToString(&json);
        DescribeSweep(orchestrator_->state(), *sweep, now_, from);
        break;
      }
      case kKinds:
        break;
    }
    orchestrator_->Offer(now_, /*grant_leases=*/true, effects);
    Commit(effects);
  }

  // The state read from the store equals the state in memory.
  void Restart() {
    const std::string before = DurableState(orchestrator_->state());
    fleet_.reset();
    people_.reset();
    reader_.reset();
    orchestrator_.reset();
    store_.reset();
    database_.reset();
    Open();
    if (DurableState(orchestrator_->state()) == before) return;
    std::fprintf(stderr, "before:\n%s\nafter:\n%s\n", before.c_str(),
                 DurableState(orchestrator_->state()).c_str());
    INLIER_CHECK(DurableState(orchestrator_->state()) == before);
  }

 private:
  template <typename Request, typename Response>
  void Decide(absl::StatusOr<Response> (*change)(Context&, const Request&, const Caller&),
              const google::protobuf::Message& request, Effects& effects) {
    Clear(orchestrator_->Change(change, static_cast<const Request&>(request), now_, effects).status());
  }

  FleetPorts PortsOfFleet() {
    FleetPorts ports;
    ports.drain = [this](const JobDrain& drain) {
      Effects effects;
      ClusterView view = orchestrator_->OnJobDrain(drain, now_, effects);
      Commit(effects);
      return view;
    };
    ports.store = [this](const std::vector<FleetChange>& changes,
                         const std::function<void(absl::Status)>& done) {
      Commit({.changes = BatchOf(changes)});
      done(absl::OkStatus());
    };
    ports.observe = [](const Fleet&) {};
    ports.now = [this] { return now_.at; };
    return ports;
  }

  // A refusal has a message, and is not an internal error.
  static void Clear(const absl::Status& status) {
    INLIER_CHECK(status.ok() || !status.message().empty());
    if (absl::IsInternal(status)) std::fprintf(stderr, "%s\n", status.ToString().c_str());
    INLIER_CHECK(!absl::IsInternal(status));
  }

  void Open() {
    database_ = Database::Open(folder_.path()).value();
    store_ = std::make_unique<Store>(*database_);
    reader_ = std::make_unique<Reader>(database_->path(), 1);
    people_ = GuardedConnection::Open(database_->path()).value();
    orchestrator_ = std::make_unique<Orchestrator>(Harness::DefaultOptions());
    Effects effects;
    INLIER_CHECK(orchestrator_->Recover(store_->Load().value(), now_, effects).ok());
    Commit(effects);
    fleet_ =
        FleetService::Make({.new_id = kFleetId}, LoadFleet(*reader_, folder_.path(), database_->id()).value(),
                           std::make_unique<FuzzedEngine>(queue_), PortsOfFleet())
            .value();
  }

  void Commit(const Effects& effects) {
    if (!effects.changes.empty()) {
      INLIER_CHECK(store_->Apply(effects.changes).value().fenced == 0);
    }
    CheckInvariants(orchestrator_->state());
  }

  TemporaryFolder folder_;
  Moment now_{Timestamp{std::chrono::hours(1)}, WallTime{1'700'000'000'000}};
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<GuardedConnection> people_;
  std::unique_ptr<Orchestrator> orchestrator_;
  std::string queue_;  // Of the fleet.
  std::unique_ptr<FleetService> fleet_;
};

// A sweep that runs: two workers take it, one finishes, one fails; people look.
std::vector<Record> Story(bool with_table) {
  std::vector<Record> records;
  v1::SubmitSweepRequest submit;
  *submit.mutable_sweep() = SmallSweep("story", 2, {8, 4});
  submit.set_request_id("one");
  if (with_table) {
    v1::TableColumn& column = *submit.mutable_sweep()->mutable_table()->add_columns();
    submit.mutable_sweep()->mutable_table()->add_rows("quantization.weights.bits");
    column.set_measurement("perplexity");
    (*column.mutable_where())["seed"].set_number_value(1);
  }
  records.push_back(Make(kSubmit, submit));
  HandWorker worker("w", 2);
  records.push_back(Make(kSync, worker.Sync()));
  // The tokens that a new database gives: 1 and 2 to the trainings, then 3 and on.
  for (Token token = 1; token <= 5; ++token) {
    v1::TrialEvent started;
    started.mutable_started()->set_pid(7);
    started.mutable_started()->set_device("cpu");
    worker.Emit(token, started);
    v1::TrialEvent progress;
    progress.mutable_progress()->set_phase("train");
    progress.mutable_progress()->set_step(5);
    worker.Emit(token, progress);
    worker.Emit(token, MeasurementEvent("train_loss", 2.5, false));
    v1::TrialEvent log;
    log.mutable_log()->set_text("a line");
    worker.Emit(token, log);
    if (token == 2) worker.Emit(token, CheckpointEvent(50, false));
    if (token != 2)
      worker.Emit(token,
                  token == 1 ? CheckpointEvent(100, true) : MeasurementEvent("perplexity", 12.5, true));
    worker.Emit(token,
                token == 2 ? FailureEvent(v1::CRASHED, "it fell") : OutcomeEvent(v1::Outcome::SUCCEEDED));
    records.push_back(Make(kSync, worker.Sync()));
    v1::CoordinatorSync answer;
    answer.set_acknowledged_sequence(worker.outbox().back().sequence());
    worker.Take(answer);
    if (token == 2) records.push_back({kTick, "\x20"});
  }
  v1::QueryRequest query;
  query.set_sql("SELECT * FROM results JOIN trials USING (trial) LIMIT 5");
  auto table = OfSweep<v1::BuildTableRequest>("story");
  *table.mutable_table() = submit.sweep().table();
  auto trials = OfSweep<v1::ListTrialsRequest>("s-1");
  trials.set_page_size(3);
  trials.set_page_token("t-1");
  auto pause = OfSweep<v1::PauseSweepRequest>("s-1");
  pause.set_now(with_table);
  pause.set_request_id("two");
  auto edit = OfSweep<v1::EditSweepRequest>("story");
  *edit.mutable_spec() = submit.sweep();
  edit.mutable_spec()->mutable_axes(0)->add_values()->set_number_value(3);
  edit.set_revision(1);
  edit.set_request_id("three");
  v1::DrainWorkerRequest drain;
  drain.set_worker("w");
  drain.set_now(true);
  v1::SetFleetRequest fleet;
  *fleet.mutable_config() = SmallFleet();
  v1::ScaleFleetRequest scale;
  scale.set_minimum(4);
  scale.set_maximum(5);
  v1::StopFleetRequest stop;
  stop.set_now(with_table);
  for (const Record& record : std::vector<Record>{
           Make(kQuery, query),
           Make(kTable, table),
           Make(kTrials, trials),
           Make(kLogs, OfTrial<v1::GetLogsRequest>("t-1")),
           Make(kSweep, OfSweep<v1::GetSweepRequest>("story")),
           Make(kPause, pause),
           Make(kEdit, edit),
           Make(kResume, OfSweep<v1::ResumeSweepRequest>("s-1")),
           {kListen, "w"},
           Make(kDrain, drain),
           Make(kExplain, OfTrial<v1::ExplainRequest>("t-2")),
           Make(kExplain, OfSweep<v1::ExplainRequest>("story")),
           Make(kSetFleet, fleet),
           {kLook, "7|PENDING|Priority||inlier-3fa9c1d2-1\n8_1|RUNNING|None|n1|inlier-3fa9c1d2-2\n"},
           Make(kScaleFleet, scale),
           {kLook, "7|FAILED|NonZeroExitCode||inlier-3fa9c1d2-1\n8_1|COMPLETED|None|n1|inlier-3fa9c1d2-2\n"},
           Make(kStopFleet, stop),
           {kLook, "9_0|RUNNING|None|n1|inlier-3fa9c1d2-3\n"},
           Make(kCancel, OfSweep<v1::CancelRequest>("s-1")),
           Make(kRetry, OfSweep<v1::RetryRequest>("s-1")),
           {kTick, "\x05"}})
    records.push_back(record);
  return records;
}

// A sweep of which everything is drawn or tied.
Record Drawn() {
  v1::SubmitSweepRequest submit;
  v1::SweepSpec& sweep = *submit.mutable_sweep();
  sweep = SmallSweep("drawn", 2, {8, 4});
  sweep.mutable_sampling()->mutable_random()->set_trials(4);
  sweep.mutable_axes(0)->add_weights(3);
  sweep.mutable_axes(0)->add_weights(1);
  v1::Axis& rate = *sweep.add_axes();
  rate.set_field("training.optimizer.adamw.learning_rate");
  rate.mutable_normal()->set_mean(-7);
  rate.mutable_normal()->set_std(1);
  rate.mutable_normal()->set_log(true);
  rate.mutable_normal()->set_max(1);
  v1::Axis& size = *sweep.add_axes();
  size.set_field("training.batch_size");
  size.mutable_range()->set_min(8);
  size.mutable_range()->set_max(64);
  size.mutable_range()->set_step(8);
  (*sweep.mutable_tied())["training.measure_every"] = "2 * training.batch_size";
  submit.set_request_id("four");
  return Make(kSubmit, submit);
}

}  // namespace

void FuzzOne(std::string_view input) {
  Service service;
  for (const Record& record : ParseRecords<Kind>(input)) service.Do(record);
  service.Restart();
}

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds = {JoinRecords(Story(false)), JoinRecords(Story(true)),
                                    JoinRecords(std::vector<Record>{Drawn(), {kTick, "\x05"}})};
  std::vector<Record> half = Story(false);
  half.resize(4);
  seeds.push_back(JoinRecords(half));
  return seeds;
}

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  std::vector<Record> records = ParseRecords<Kind>(input);
  if (records.empty()) return JoinRecords(Story(random() % 2 == 0));
  MutateRecords<Kind>(records, kTick, random, [&](Record& record) {
    const auto message = MessageOf(record.kind);
    if (message == nullptr || !message->ParseFromString(record.bytes)) return false;
    for (std::uint64_t times = 1 + random() % 3; times > 0; --times) MutateMessage(*message, random);
    record.bytes = message->SerializeAsString();
    return true;
  });
  return JoinRecords(records);
}

}  // namespace inlier
