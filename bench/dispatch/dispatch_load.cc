// dispatch_load: a steady load of no-op trials on a running coordinator, through real gRPC sessions.
//
//   dispatch_load throughput --address HOST:PORT --trials 20000 --sessions 64 --slots 16
//   dispatch_load latency    --address HOST:PORT --trials 500 --load 10000
//
// Prints one JSON object. A trial is a training and its evaluation; with --evaluations E, E trials share a
// training. Latency is from Submit to the lease at the worker, of one trial after the other on an idle
// system, or under a steady load of trials a second. "Committed" trials are those that the coordinator has
// acknowledged, so each of them is on disk.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/time.h"
#include "bench/dispatch/load.h"
#include "bench/dispatch/load_report.h"

namespace inlier {
namespace {

// Between two trials whose latency is taken: enough to complete the work of the first.
constexpr std::chrono::milliseconds kIdle{3};

nlohmann::json Throughput(const LoadOptions& options) {
  Load load(options);
  const std::uint32_t trainings = std::max(1u, options.trials / options.evaluations);
  const auto request = SweepOf(options, "load", options.first_seed, trainings);
  const Timestamp started = MonotonicNow();
  load.Submit(request);
  const Timestamp submitted = MonotonicNow();
  const std::uint64_t trials = static_cast<std::uint64_t>(trainings) * options.evaluations;
  load.WaitForCommitted(trials);
  const double seconds = ToSeconds(MonotonicNow() - started);
  nlohmann::json result = {{"trials", trials},
                           {"leases", load.leases()},
                           {"seconds", seconds},
                           {"submit_seconds", ToSeconds(submitted - started)},
                           {"trials_per_second", static_cast<double>(trials) / seconds},
                           {"leases_per_second", static_cast<double>(load.leases()) / seconds}};
  if (options.points > 0) {
    result["points"] = load.points_committed();
    result["points_per_second"] = static_cast<double>(load.points_committed()) / seconds;
  }
  return result;
}

nlohmann::json Latency(const LoadOptions& options) {
  Load load(options);
  std::mt19937 random(options.first_seed);
  std::uniform_int_distribution<std::uint32_t> pause_ms(0, options.pause_ms);
  std::optional<SteadyLoad> steady;
  if (options.load > 0) steady.emplace(load, options);
  const Timestamp start = MonotonicNow();
  // The first shows that the sessions are there; it is not counted.
  std::vector<double> seconds, empty_calls;
  for (std::uint32_t i = 0; i <= options.trials && !steady; ++i) {
    const Timestamp asked = MonotonicNow();
    load.AskInVain();
    if (i > 0) empty_calls.push_back(ToSeconds(MonotonicNow() - asked));
    std::this_thread::sleep_for(kIdle);
  }
  for (std::uint32_t i = 0; i <= options.trials; ++i) {
    const std::uint32_t seed = options.first_seed + i;
    const auto request = SweepOf(options, "latency", seed, 1);
    load.ExpectSeed(seed);
    const Timestamp started = MonotonicNow();
    load.Submit(request);
    const Timestamp leased = load.WaitForExpected();
    if (i > 0) seconds.push_back(ToSeconds(leased - started));
    if (!steady) load.WaitForCommitted((i + 1) * static_cast<std::uint64_t>(options.evaluations));
    std::this_thread::sleep_for(kIdle + std::chrono::milliseconds(pause_ms(random)));
  }
  nlohmann::json result = {{"submissions", seconds.size()},
                           {"submit_to_lease_p50_ms", 1e3 * Quantile(seconds, 0.5)},
                           {"submit_to_lease_p99_ms", 1e3 * Quantile(seconds, 0.99)},
                           {"submit_to_lease_max_ms", 1e3 * Quantile(seconds, 1)}};
  if (!steady) {
    result["empty_call_p50_ms"] = 1e3 * Quantile(empty_calls, 0.5);
    result["empty_call_p99_ms"] = 1e3 * Quantile(empty_calls, 0.99);
  } else {
    const double lasted = ToSeconds(MonotonicNow() - start);
    const std::uint64_t committed = load.committed();
    steady->Stop();
    load.WaitForCommitted(std::max(committed, steady->submitted() + options.trials + 1));
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
    mode->add_option("--worker-token-file", options.worker_token_file, "Token of the workers, of role work");
    mode->add_option("--token-file", options.token_file, "Token of the client, of role submit");
    mode->add_option("--disk", options.disk, "Folder whose disk is timed as well");
    mode->add_option("--trials", options.trials, "How many");
    mode->add_option("--evaluations", options.evaluations, "Trials that share a training");
    mode->add_option("--sessions", options.sessions, "Connected workers");
    mode->add_option("--slots", options.slots, "Places of each worker");
    mode->add_option("--points", options.points, "Measurements of each evaluation");
    mode->add_option("--first-seed", options.first_seed, "Seeds from here on, so that trials are new");
  }
  latency->add_option("--load", options.load,
                      "Load in trials a second, of a sweep that keeps half of the slots busy");
  latency->add_option("--pause-ms", options.pause_ms, "Up to so long between two trials, at random");
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
