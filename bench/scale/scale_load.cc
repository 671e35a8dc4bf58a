// scale_load: the load of bench/scale on a running coordinator, through real gRPC. Each mode prints one JSON
// object.
//
//   points    64 workers that report measurements without end, and the submit-to-lease latency meanwhile
//   connect   workers that only stay connected, each on a connection of its own, until stdin ends
//   submit    submissions of a lazy grid
//   edit      edits of a sweep of 1,000 x 1,000 points of which some have run
//   fill      sweeps of 1,000 trials that stay open
//   hold      a worker that takes leases and goes; prints their tokens
//   probe     waits for a coordinator that starts: the first lease of a new worker, then the leases of `hold`
//   cut       a worker that falls silent: when another one is leased its stage, and the effect of its late result
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/uuid.h"
#include "base/version.h"
#include "bench/dispatch/load_report.h"
#include "bench/dispatch/load_session.h"
#include "bench/scale/point_stream.h"
#include "bench/scale/scale_client.h"

namespace inlier {
namespace {

struct ScaleOptions {
  std::string address;
  std::uint32_t sessions = 64;
  std::uint32_t batch = 500;
  double rate = 0;  // Points a second of all; 0: as many as possible.
  double seconds = 10;
  int axes = 4;
  std::uint32_t values = 1000;
  std::uint32_t repeat = 20;
  std::uint32_t first = 1;
  std::vector<std::uint64_t> tokens;
};

double NowSeconds() { return ToSeconds(MonotonicNow().since_start); }

// Counts, and wakes the thread that waits for a count.
class Counter {
 public:
  void Add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    at_ = MonotonicNow();
    changed_.notify_all();
  }
  std::uint64_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  // When the latest came.
  Timestamp WaitFor(std::uint64_t count, const char* what) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(2), [&] { return count_ >= count; }))
      Die(absl::StrCat("waited two minutes for ", what));
    return at_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
  Timestamp at_;
};

// Sessions that end at once what they are given, polled by a thread of their own.
class Sessions {
 public:
  Sessions(const ScaleOptions& options, std::uint32_t count, std::uint32_t slots, bool own_connections) {
    const std::string run = RandomUuid().substr(0, 8);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (stubs_.empty() || own_connections)
        stubs_.push_back(v1::WorkerService::NewStub(OwnConnection(options.address)));
      LoadSession::Options session;
      session.incarnation = absl::StrCat("scale-", run, "-", i);
      session.version = Version();
      session.slots = slots;
      LoadSession::Hooks hooks;
      hooks.on_lease = [this](const v1::Assignment&) { leases.Add(); };
      hooks.on_committed = [this](std::uint64_t n) {
        for (; n > 0; --n) committed.Add();
      };
      hooks.on_end = [this](const grpc::Status&) { ended.Add(); };
      sessions_.push_back(
          std::make_unique<LoadSession>(*stubs_.back(), std::move(session), std::move(hooks)));
    }
    for (auto& session : sessions_) {
      session->Start();
      if (own_connections) ::usleep(200);
    }
    poller_ = std::thread([this] {
      for (; !stop_; ::usleep(1000)) {
        const Timestamp now = MonotonicNow();
        for (auto& session : sessions_) session->Poll(now);
      }
    });
  }
  ~Sessions() {
    stop_ = true;
    poller_.join();
    for (auto& session : sessions_) session->Cancel();
    ended.WaitFor(sessions_.size(), "the sessions to end");
  }

  Counter leases, committed, ended;

 private:
  std::vector<std::unique_ptr<v1::WorkerService::Stub>> stubs_;
  std::vector<std::unique_ptr<LoadSession>> sessions_;
  std::atomic<bool> stop_ = false;
  std::thread poller_;
};

nlohmann::json Quantiles(const std::vector<double>& milliseconds) {
  return {{"count", milliseconds.size()},
          {"p50_ms", Quantile(milliseconds, 0.5)},
          {"p99_ms", Quantile(milliseconds, 0.99)},
          {"max_ms", Quantile(milliseconds, 1)}};
}

nlohmann::json Points(const ScaleOptions& options) {
  const auto sweeps = v1::SweepService::NewStub(OwnConnection(options.address));
  std::vector<std::unique_ptr<v1::WorkerService::Stub>> stubs;
  for (int i = 0; i < 4; ++i) stubs.push_back(v1::WorkerService::NewStub(OwnConnection(options.address)));
  Submit(*sweeps, GridSweep("points", 1, options.sessions, options.first));
  Counter changes;
  std::vector<std::unique_ptr<PointStream>> streams;
  const std::string run = RandomUuid().substr(0, 8);
  const Duration interval =
      options.rate > 0 ? FromSeconds(options.sessions * options.batch / options.rate) : Duration::zero();
  for (std::uint32_t i = 0; i < options.sessions; ++i) {
    streams.push_back(std::make_unique<PointStream>(
        *stubs[i % stubs.size()],
        PointStream::Options{absl::StrCat("points-", run, "-", i), Version(), options.batch, interval},
        [&changes] { changes.Add(); }));
    streams.back()->Start();
  }
  std::atomic<bool> ended = false;
  std::thread pacer([&] {
    while (!ended) {
      for (const auto& stream : streams) stream->Poll(MonotonicNow());
      ::usleep(1000);
    }
  });
  changes.WaitFor(options.sessions, "the leases of the reporting workers");
  const auto acknowledged = [&streams] {
    std::uint64_t sum = 0;
    for (const auto& stream : streams) sum += stream->progress().acknowledged;
    return sum;
  };
  nlohmann::json result;
  std::vector<double> latencies;
  {
    Sessions idle(options, 1, 1, false);
    ::usleep(500'000);
    const std::uint64_t before = acknowledged();
    const Timestamp started = MonotonicNow();
    std::uint32_t seed = options.first + options.sessions;
    while (ToSeconds(MonotonicNow() - started) < options.seconds) {
      const std::uint64_t leases = idle.leases.count(), committed = idle.committed.count();
      const Timestamp from = MonotonicNow();
      Submit(*sweeps, GridSweep("latency", 1, 1, seed++));
      latencies.push_back(1e3 * ToSeconds(idle.leases.WaitFor(leases + 1, "a lease") - from));
      idle.committed.WaitFor(committed + 1, "a result");
      ::usleep(5000);
    }
    const double seconds = ToSeconds(MonotonicNow() - started);
    result["points"] = acknowledged() - before;
    result["seconds"] = seconds;
    result["points_per_second"] = static_cast<double>(acknowledged() - before) / seconds;
    result["submit_to_lease"] = Quantiles(latencies);
  }
  // The coordinator is killed now, while points still arrive.
  std::printf("%s\n", nlohmann::json{{"measured", true}}.dump().c_str());
  std::fflush(stdout);
  changes.WaitFor(2ull * options.sessions, "the end of the coordinator");
  ended = true;
  pacer.join();
  for (const auto& stream : streams) {
    const PointStream::Progress progress = stream->progress();
    result["streams"].push_back(
        {{"token", progress.token}, {"sent", progress.sent}, {"acknowledged", progress.acknowledged}});
  }
  return result;
}

nlohmann::json Connect(const ScaleOptions& options) {
  Sessions sessions(options, options.sessions, 1, true);
  std::printf("%s\n", nlohmann::json{{"connected", options.sessions}}.dump().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return {{"sessions", options.sessions}, {"ended_early", sessions.ended.count()}};
}

nlohmann::json SubmitGrids(const ScaleOptions& options) {
  const auto sweeps = v1::SweepService::NewStub(OwnConnection(options.address));
  Submit(*sweeps, GridSweep("warm", 1, 1, options.first));
  std::vector<double> milliseconds;
  double points = 1;
  for (int i = 0; i < options.axes; ++i) points *= options.values;
  for (std::uint32_t i = 0; i < options.repeat; ++i) {
    const auto submitted =
        Submit(*sweeps, GridSweep(absl::StrCat("grid-", i), options.axes, options.values, options.first + i));
    milliseconds.push_back(submitted.milliseconds);
    ::usleep(300'000);  // The work after a submission must not count for the next one.
  }
  nlohmann::json result = Quantiles(milliseconds);
  result["points"] = points;
  return result;
}

nlohmann::json Edit(const ScaleOptions& options) {
  const auto sweeps = v1::SweepService::NewStub(OwnConnection(options.address));
  v1::SweepSpec spec = GridSweep("million", 2, options.values, options.first);
  const std::string sweep = Submit(*sweeps, spec).response.sweep_id();
  {
    Sessions workers(options, 4, 4, false);
    workers.committed.WaitFor(options.repeat, "finished trials");
  }
  ::usleep(1'000'000);
  const auto edit = [&](const char* what) {
    v1::EditSweepRequest request;
    request.set_request_id(RandomUuid());
    request.set_sweep(sweep);
    request.set_max_trials(~std::uint64_t{0} >> 1);
    *request.mutable_spec() = spec;
    grpc::ClientContext context;
    v1::EditSweepResponse response;
    const Timestamp started = MonotonicNow();
    const grpc::Status status = sweeps->EditSweep(&context, request, &response);
    const double milliseconds = 1e3 * ToSeconds(MonotonicNow() - started);
    if (!status.ok()) Die(absl::StrCat("EditSweep: ", status.error_message()));
    ::usleep(700'000);
    return nlohmann::json{{"what", what},
                          {"milliseconds", milliseconds},
                          {"added", response.added()},
                          {"kept", response.kept()},
                          {"withdrawn", response.withdrawn()}};
  };
  nlohmann::json result = {{"finished_before", options.repeat}};
  std::uint32_t next = options.first + options.values;
  for (int round = 0; round < 3; ++round) {
    spec.set_priority(round + 1);
    result["edits"].push_back(edit("priority"));
    spec.mutable_axes(0)->add_values()->set_number_value(next++);
    result["edits"].push_back(edit("a value more on the first axis"));
    spec.mutable_axes(1)->add_values()->set_number_value(options.values + round + 1);
    result["edits"].push_back(edit("a value more on the last axis"));
    spec.mutable_axes(1)->mutable_values()->DeleteSubrange(static_cast<int>(options.values) / 2, 1);
    result["edits"].push_back(edit("a value less on the last axis"));
  }
  // Some more, so that what was finished would run again if it could.
  Sessions workers(options, 4, 4, false);
  workers.committed.WaitFor(options.repeat, "trials after the edits");
  return result;
}

nlohmann::json Fill(const ScaleOptions& options) {
  const auto sweeps = v1::SweepService::NewStub(OwnConnection(options.address));
  for (std::uint32_t i = 0; i < options.repeat; ++i)
    Submit(*sweeps,
           GridSweep(absl::StrCat("open-", i), 1, options.values, options.first + i * options.values));
  return {{"trials", options.repeat * options.values}};
}

nlohmann::json Hold(const ScaleOptions& options) {
  HandWorker worker(options.address, "scale-held", options.sessions);
  worker.Sync();
  if (worker.tokens().size() != options.sessions) Die("there were not enough stages to lease");
  return {{"tokens", worker.tokens()}};
}

nlohmann::json Probe(const ScaleOptions& options) {
  HandWorker fresh(options.address, absl::StrCat("scale-fresh-", RandomUuid().substr(0, 8)), 1);
  HandWorker held(options.address, "scale-held", static_cast<std::uint32_t>(options.tokens.size()),
                  options.tokens);
  while (fresh.Sync().desired_size() == 0) ::usleep(1000);
  nlohmann::json result = {{"leased_at", NowSeconds()}};
  const v1::CoordinatorSync answer = held.Sync();
  result["adopted"] = held.tokens() == options.tokens && answer.stop_size() == 0;
  return result;
}

nlohmann::json Cut(const ScaleOptions& options) {
  const auto sweeps = v1::SweepService::NewStub(OwnConnection(options.address));
  Submit(*sweeps, GridSweep("cut", 1, 1, options.first));
  HandWorker silent(options.address, absl::StrCat("scale-cut-", options.first), 1);
  if (silent.Sync().desired_size() != 1) Die("there was no stage to lease");
  Sessions other(options, 1, 1, false);
  ::usleep(300'000);
  silent.Sync();
  const Timestamp cut = MonotonicNow();
  const Timestamp leased = other.leases.WaitFor(1, "the stage to be leased again");
  other.committed.WaitFor(1, "its result");
  v1::NumberedEvent late;
  late.set_sequence(1);
  late.set_token(silent.tokens().front());
  late.mutable_event()->mutable_outcome()->set_kind(v1::Outcome::SUCCEEDED);
  const v1::CoordinatorSync answer = silent.Sync({late});
  return {{"seconds", ToSeconds(leased - cut)},
          {"late_result_stopped", answer.stop_size() == 1 && answer.desired_size() == 0}};
}

int Main(int argc, char** argv) {
  CLI::App app("What bench/scale asks of a running coordinator");
  ScaleOptions options;
  app.require_subcommand(1);
  nlohmann::json (*run)(const ScaleOptions&) = nullptr;
  const auto mode = [&](const char* name, const char* what, nlohmann::json (*function)(const ScaleOptions&)) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->add_option("--address", options.address, "gRPC address of the coordinator")->required();
    sub->add_option("--sessions", options.sessions, "Connected workers, or slots");
    sub->add_option("--batch", options.batch, "Points of a sync");
    sub->add_option("--rate", options.rate, "Points a second at most; 0: as many as can be");
    sub->add_option("--seconds", options.seconds, "How long to measure");
    sub->add_option("--axes", options.axes, "Axes of the grid")->check(CLI::Range(1, 4));
    sub->add_option("--values", options.values, "Values of each axis");
    sub->add_option("--repeat", options.repeat, "How many");
    sub->add_option("--first", options.first, "Seeds from here on, so that trials are new");
    sub->add_option("--tokens", options.tokens, "What `hold` printed");
    sub->callback([&run, function] { run = function; });
  };
  mode("points", "Measurements a second", Points);
  mode("connect", "Connected workers", Connect);
  mode("submit", "Lazy grids", SubmitGrids);
  mode("edit", "Live edits", Edit);
  mode("fill", "Open trials", Fill);
  mode("hold", "Leases that stay", Hold);
  mode("probe", "The first lease of a coordinator that starts", Probe);
  mode("cut", "A worker that falls silent", Cut);
  CLI11_PARSE(app, argc, argv);
  std::printf("%s\n", run(options).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) { return inlier::Main(argc, argv); }
