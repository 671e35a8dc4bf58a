// dispatch_load: a steady load of no-op trials on a running coordinator, through real gRPC sessions.
//
//   dispatch_load throughput --address HOST:PORT --trials 20000 --sessions 64 --slots 16
//   dispatch_load latency    --address HOST:PORT --trials 500 --load 10000
//
// Prints one JSON object. A trial is a training and its evaluation; with --evaluations E, E trials share a
// training. Latency is from Submit to the lease at the worker, of one trial after the other on an idle
// system, or beside a steady load of so many trials a second. "Committed" is what the coordinator has
// acknowledged, so each counted trial is on disk.
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/service/rpc.h"
#include "base/time.h"
#include "base/uuid.h"
#include "base/version.h"
#include "bench/dispatch/load_report.h"
#include "bench/dispatch/load_session.h"
#include "inlier/v1/sweep_service.grpc.pb.h"

namespace inlier {
namespace {

struct LoadOptions {
  std::string address = "127.0.0.1:7420";
  std::string disk;  // Folder whose disk is timed.
  std::uint32_t trials = 20'000;
  std::uint32_t evaluations = 1;
  std::uint32_t sessions = 64;
  std::uint32_t slots = 16;
  std::uint32_t points = 0;
  std::uint32_t first_seed = 1;
  std::uint32_t load = 0;       // Trials a second beside those whose latency is taken.
  std::uint32_t bursts_ms = 0;  // They come in a sweep every so often; 0: of one that runs all the time.

  // The sessions end attempts at the rate of `load`, not at once.
  bool Paced() const { return load > 0 && bursts_ms == 0; }
};

// Between two trials whose latency is taken: what the one before left to do is done.
constexpr std::chrono::milliseconds kIdle{3};
[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "dispatch_load: error: %s\n", message.c_str());
  std::exit(1);
}

v1::SubmitSweepRequest SweepOf(const LoadOptions& options, const std::string& name, std::uint32_t seed,
                               std::uint32_t trainings) {
  v1::SubmitSweepRequest request;
  request.set_request_id(RandomUuid());
  request.set_max_trials(static_cast<std::uint64_t>(trainings) * options.evaluations);
  v1::SweepSpec& sweep = *request.mutable_sweep();
  sweep.set_name(name);
  *sweep.mutable_base() = LoadTrial();
  v1::Axis& seeds = *sweep.add_axes();
  seeds.set_field("seed");
  for (std::uint32_t i = 0; i < trainings; ++i) seeds.add_values()->set_number_value(seed + i);
  if (options.evaluations > 1) {
    v1::Axis& evaluations = *sweep.add_axes();
    evaluations.set_name("calibration_seed");
    evaluations.set_field("quantization.calibration.seed");
    for (std::uint32_t i = 1; i <= options.evaluations; ++i) evaluations.add_values()->set_number_value(i);
  }
  return request;
}

// The sessions, and what came of them.
class Load {
 public:
  explicit Load(const LoadOptions& options) : options_(options) {
    for (int i = 0; i < kChannels; ++i)
      workers_.push_back(v1::WorkerService::NewStub(MakeChannel(options.address)));
    sweeps_ = v1::SweepService::NewStub(MakeChannel(options.address));
    const std::string run = RandomUuid().substr(0, 8);
    for (std::uint32_t i = 0; i < options.sessions; ++i) {
      LoadSession::Options session;
      session.incarnation = absl::StrCat("load-", run, "-", i);
      session.version = Version();
      session.slots = options.slots;
      session.points = options.points;
      session.holds = options.Paced();
      LoadSession::Hooks hooks;
      hooks.on_lease = [this](const v1::Assignment& assignment) { OnLease(assignment); };
      hooks.on_committed = [this](std::uint64_t count) { OnCommitted(count); };
      hooks.on_end = [this](const grpc::Status& status) { OnEnd(status); };
      sessions_.push_back(
          std::make_unique<LoadSession>(*workers_[i % kChannels], std::move(session), std::move(hooks)));
    }
    for (auto& session : sessions_) session->Start();
    poller_ = std::thread([this] {
      for (Timestamp last = MonotonicNow(); !stop_; ::usleep(1000)) {
        const Timestamp now = MonotonicNow();
        for (auto& session : sessions_) session->Poll(now);
        if (options_.Paced()) EndAttempts(options_.load * ToSeconds(now - last));
        last = now;
      }
    });
  }

  ~Load() {
    stop_ = true;
    poller_.join();
    for (auto& session : sessions_) session->Cancel();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ == sessions_.size(); });
  }

  // Returns the sweep's id.
  std::string Submit(const v1::SubmitSweepRequest& request) {
    grpc::ClientContext context;
    v1::SubmitSweepResponse response;
    const grpc::Status status = sweeps_->SubmitSweep(&context, request, &response);
    if (!status.ok()) Die(absl::StrCat("SubmitSweep: ", status.error_message()));
    const std::lock_guard lock(mutex_);
    committed_ += response.trials_known();
    return response.sweep_id();
  }

  void CancelSweep(const std::string& sweep) {
    grpc::ClientContext context;
    v1::CancelRequest request;
    request.set_sweep(sweep);
    v1::CancelResponse response;
    const grpc::Status status = sweeps_->Cancel(&context, request, &response);
    if (!status.ok()) Die(absl::StrCat("Cancel: ", status.error_message()));
  }

  // A call that is refused at once: what gRPC itself takes.
  void AskInVain() {
    grpc::ClientContext context;
    v1::CancelResponse response;
    const grpc::Status status = sweeps_->Cancel(&context, v1::CancelRequest(), &response);
    if (status.error_code() != grpc::StatusCode::INVALID_ARGUMENT)
      Die(absl::StrCat("Cancel of nothing: ", status.error_message()));
  }

  void WaitForCommitted(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    awaited_ = count;
    if (!changed_.wait_for(lock, std::chrono::minutes(10), [&] { return committed_ >= count || broken_; }) ||
        broken_) {
      Die(absl::StrCat(committed_, " of ", count, " trials committed, then ",
                       broken_ ? problem_ : "nothing"));
    }
  }
  // When the first stage with that seed was leased; it is awaited from ExpectSeed on.
  void ExpectSeed(std::uint32_t seed) {
    const std::lock_guard lock(mutex_);
    expected_ = seed;
    leased_.reset();
  }
  Timestamp WaitForExpected() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(1), [&] { return leased_ || broken_; }) || broken_)
      Die(broken_ ? problem_ : "no lease came");
    return *leased_;
  }
  std::uint64_t leases() {
    const std::lock_guard lock(mutex_);
    return leases_;
  }
  std::uint64_t committed() {
    const std::lock_guard lock(mutex_);
    return committed_;
  }
  std::uint64_t points_committed() const {
    std::uint64_t sum = 0;
    for (const auto& session : sessions_) sum += session->points_committed();
    return sum;
  }

 private:
  static constexpr int kChannels = 4;

  // Ends so many attempts, from session to session; what is left over is kept for the next time.
  void EndAttempts(double count) {
    for (owed_ = std::min(owed_ + count, 1.0 * options_.load); owed_ >= 1; --owed_) {
      std::size_t asked = 0;
      while (asked++ < sessions_.size() && !sessions_[next_ended_++ % sessions_.size()]->EndOldest()) {
      }
      if (asked > sessions_.size()) return;
    }
  }
  void OnLease(const v1::Assignment& assignment) {
    const Timestamp now = MonotonicNow();
    const std::lock_guard lock(mutex_);
    ++leases_;
    v1::TrialSpec spec;
    if (expected_ == 0 || leased_ || !spec.ParseFromString(assignment.spec()) || spec.seed() != expected_)
      return;
    leased_ = now;
    changed_.notify_all();
  }
  void OnCommitted(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    committed_ += count;
    if (committed_ >= awaited_) changed_.notify_all();
  }
  void OnEnd(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    ++ended_;
    if (!stop_) {
      broken_ = true;
      problem_ = absl::StrCat("a session ended: ", status.error_message());
    }
    changed_.notify_all();
  }

  const LoadOptions options_;
  std::vector<std::unique_ptr<v1::WorkerService::Stub>> workers_;
  std::unique_ptr<v1::SweepService::Stub> sweeps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t committed_ = 0, leases_ = 0, ended_ = 0;
  std::uint64_t awaited_ = 0;        // Committed: whoever waits is woken then, not before.
  std::uint32_t expected_ = 0;       // The seed whose lease is awaited.
  std::optional<Timestamp> leased_;  // When it was.
  bool broken_ = false;
  std::string problem_;
  std::atomic<bool> stop_ = false;
  std::vector<std::unique_ptr<LoadSession>> sessions_;
  double owed_ = 0;  // Attempts to be ended. The poller's, as the next one.
  std::size_t next_ended_ = 0;
  std::thread poller_;
};

nlohmann::json Throughput(const LoadOptions& options) {
  Load load(options);
  const std::uint32_t trainings = std::max(1u, options.trials / options.evaluations);
  const auto request = SweepOf(options, "load", options.first_seed, trainings);
  const Timestamp begun = MonotonicNow();
  load.Submit(request);
  const Timestamp submitted = MonotonicNow();
  const std::uint64_t trials = static_cast<std::uint64_t>(trainings) * options.evaluations;
  load.WaitForCommitted(trials);
  const double seconds = ToSeconds(MonotonicNow() - begun);
  nlohmann::json result = {{"trials", trials},
                           {"leases", load.leases()},
                           {"seconds", seconds},
                           {"submit_seconds", ToSeconds(submitted - begun)},
                           {"trials_per_second", static_cast<double>(trials) / seconds},
                           {"leases_per_second", static_cast<double>(load.leases()) / seconds}};
  if (options.points > 0) {
    result["points"] = load.points_committed();
    result["points_per_second"] = static_cast<double>(load.points_committed()) / seconds;
  }
  return result;
}

// Trials at a steady rate, as long as it lives: of one sweep that runs all the time in half of the slots, or
// of a new one every bursts_ms.
class SteadyLoad {
 public:
  SteadyLoad(Load& load, LoadOptions options) : load_(load) {
    if (options.bursts_ms == 0) {
      options.evaluations = kEvaluations;
      v1::SubmitSweepRequest request = SweepOf(options, "steady", SeedsOf(options), kTrainings);
      request.mutable_sweep()->set_max_parallel(std::max(1u, options.sessions * options.slots / 2));
      runs_ = load.Submit(request);
      return;
    }
    options.evaluations = std::max(1u, options.load * options.bursts_ms / 1000);
    const Duration period = std::chrono::milliseconds(options.bursts_ms);
    thread_ = std::thread([this, options, period] {
      Timestamp due = MonotonicNow();
      for (std::uint32_t seed = SeedsOf(options); !stop_; ++seed) {
        load_.Submit(SweepOf(options, "steady", seed, 1));
        submitted_ += options.evaluations;
        due = due + period;
        while (!stop_ && MonotonicNow() < due) ::usleep(1000);
      }
    });
  }
  ~SteadyLoad() { Stop(); }
  void Stop() {
    if (stop_.exchange(true)) return;
    if (thread_.joinable()) thread_.join();
    if (!runs_.empty()) load_.CancelSweep(runs_);
  }
  // In bursts, so many must be committed in the end.
  std::uint64_t submitted() const { return submitted_; }

 private:
  // From here on: new ones for each run.
  static std::uint32_t SeedsOf(const LoadOptions& options) {
    return 1'000'000'000 + options.first_seed * kTrainings;
  }
  static constexpr std::uint32_t kEvaluations = 1000;  // Of a training, in the sweep that runs.
  static constexpr std::uint32_t kTrainings = 10'000;  // It never ends by itself.
  Load& load_;
  std::string runs_;  // The sweep.
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> submitted_ = 0;
  std::thread thread_;
};

nlohmann::json Latency(const LoadOptions& options) {
  Load load(options);
  std::optional<SteadyLoad> beside;
  if (options.load > 0) beside.emplace(load, options);
  const Timestamp start = MonotonicNow();
  // The first shows that the sessions are there; it is not counted.
  std::vector<double> seconds, empty_calls;
  for (std::uint32_t i = 0; i <= options.trials && !beside; ++i) {
    const Timestamp asked = MonotonicNow();
    load.AskInVain();
    if (i > 0) empty_calls.push_back(ToSeconds(MonotonicNow() - asked));
    std::this_thread::sleep_for(kIdle);
  }
  for (std::uint32_t i = 0; i <= options.trials; ++i) {
    const std::uint32_t seed = options.first_seed + i;
    const auto request = SweepOf(options, "latency", seed, 1);
    load.ExpectSeed(seed);
    const Timestamp begun = MonotonicNow();
    load.Submit(request);
    const Timestamp leased = load.WaitForExpected();
    if (i > 0) seconds.push_back(ToSeconds(leased - begun));
    if (!beside) load.WaitForCommitted((i + 1) * static_cast<std::uint64_t>(options.evaluations));
    std::this_thread::sleep_for(kIdle);
  }
  nlohmann::json result = {{"submissions", seconds.size()},
                           {"submit_to_lease_p50_ms", 1e3 * Quantile(seconds, 0.5)},
                           {"submit_to_lease_p99_ms", 1e3 * Quantile(seconds, 0.99)}};
  if (!beside) {
    result["empty_call_p50_ms"] = 1e3 * Quantile(empty_calls, 0.5);
    result["empty_call_p99_ms"] = 1e3 * Quantile(empty_calls, 0.99);
  } else {
    const double lasted = ToSeconds(MonotonicNow() - start);
    const std::uint64_t committed = load.committed();
    beside->Stop();
    load.WaitForCommitted(std::max(committed, beside->submitted() + options.trials + 1));
    result["load_committed_per_second"] = static_cast<double>(committed) / lasted;
  }
  return result;
}

int Main(int argc, char** argv) {
  CLI::App app("A steady load of no-op trials on a running coordinator");
  LoadOptions options;
  app.require_subcommand(1);
  CLI::App* throughput = app.add_subcommand("throughput", "All trials submitted at once");
  CLI::App* latency =
      app.add_subcommand("latency", "One trial at a time: from Submit to its lease at the worker");
  for (CLI::App* mode : {throughput, latency}) {
    mode->add_option("--address", options.address, "gRPC address of the coordinator");
    mode->add_option("--disk", options.disk, "Folder whose disk is timed beside");
    mode->add_option("--trials", options.trials, "How many");
    mode->add_option("--evaluations", options.evaluations, "Trials that share a training");
    mode->add_option("--sessions", options.sessions, "Connected workers");
    mode->add_option("--slots", options.slots, "Places of each worker");
    mode->add_option("--points", options.points, "Measurements of each evaluation");
    mode->add_option("--first-seed", options.first_seed, "Seeds from here on, so that trials are new");
  }
  latency->add_option("--load", options.load,
                      "Trials a second beside, of a sweep that runs all the time in half of the slots");
  latency->add_option("--bursts-ms", options.bursts_ms, "They come in a sweep of its own so often");
  CLI11_PARSE(app, argc, argv);
  nlohmann::json result = throughput->parsed() ? Throughput(options) : Latency(options);
  result["sessions"] = options.sessions;
  result["slots"] = options.slots;
  if (!options.disk.empty()) {
    const auto disk = TimeDisk(options.disk, 200, latency->parsed() ? kIdle : Duration::zero());
    if (!disk.ok()) Die(std::string(disk.status().message()));
    result["fdatasync_p50_ms"] = 1e3 * Quantile(*disk, 0.5);
    result["fdatasync_p99_ms"] = 1e3 * Quantile(*disk, 0.99);
  }
  std::printf("%s\n", result.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) { return inlier::Main(argc, argv); }
