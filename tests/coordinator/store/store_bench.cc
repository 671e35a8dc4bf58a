// Prints the throughput of the store on this machine: lifecycle transactions of closed-loop clients, trials,
// measurement rows, reload.
//   store_bench [folder]        (default: a folder below the current one, removed at the end)
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "coordinator/store/committer.h"

namespace inlier {
namespace {

constexpr int kTrials = 60000;

double Seconds(Timestamp start) { return ToSeconds(MonotonicNow() - start); }

// Processor time of all threads since the last call, which a busy machine does not change.
double CpuMicroseconds() {
  static std::clock_t last = 0;
  const std::clock_t now = std::clock();
  return 1e6 * static_cast<double>(now - std::exchange(last, now)) / CLOCKS_PER_SEC;
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// One training stage and one trial each; enough of a specification to have a real size.
void AddTrials(Store& store) {
  const std::string spec = R"({"seed":1,"model":{"bert":{"layers":2,"hidden_size":128}},"note":")" +
                           std::string(1200, 'x') + "\"}";
  ChangeBatch sweep;
  SweepRow row{.id = SweepId(1), .points = kTrials, .trials = kTrials};
  row.spec.set_name("bench");
  sweep.Add(std::move(row));
  sweep.Add(DataRow{.id = DataId(1), .names = "{}"});
  Check(store.Apply(sweep).status());
  CpuMicroseconds();
  const Timestamp start = MonotonicNow();
  for (int first = 1; first <= kTrials; first += 1000) {
    ChangeBatch batch;
    for (int i = first; i < first + 1000; ++i) {
      batch.Add(StageRow{.id = StageId(i),
                         .fingerprint = ParseSha256Hex(Sha256Hex(std::to_string(i))).value(),
                         .train_stage = {},
                         .data = DataId(1),
                         .spec_json = spec});
      batch.Add(TrialRow{.id = TrialId(i),
                         .sweep = SweepId(1),
                         .point = static_cast<std::uint64_t>(i),
                         .train_stage = StageId(i),
                         .labels_json = R"({"seed":"1"})"});
    }
    Check(store.Apply(batch).status());
  }
  std::printf(
      "submit: %.0f trials/s (a stage and a trial each, 1.3 kB of specification), %.1f us of processor "
      "time each\n",
      kTrials / Seconds(start), CpuMicroseconds() / kTrials);
}

// `clients` keep one batch each in flight: a lease, then a result with five measurements.
void Lifecycles(Store& store, int clients, int& next, int count) {
  struct Client {
    int trial = 0;
    bool leased = false;
  };
  std::mutex mutex;
  std::condition_variable ended;
  std::uint64_t commits = 0;
  std::vector<double> latencies;
  CommitterOptions options;
  options.on_commit = [&](const CommitStats&) { ++commits; };
  const int until = next + count;
  int running = clients;
  CpuMicroseconds();
  const Timestamp start = MonotonicNow();
  {
    Committer committer(store, options, [](absl::Status status) { Check(status); });
    std::vector<Client> state(clients);
    std::function<void(int)> step = [&](int c) {
      ChangeBatch batch;
      Client& client = state[c];
      if (!client.leased) {
        if (next >= until) {
          const std::lock_guard lock(mutex);
          --running;
          ended.notify_all();
          return;
        }
        client.trial = next++;
        batch.Add(AttemptRow{.token = static_cast<Token>(client.trial),
                             .stage = StageId(client.trial),
                             .worker = "worker",
                             .sweep = SweepId(1)});
        batch.Add(EventRow{.kind = "lease_granted",
                           .stage = StageId(client.trial),
                           .worker = "worker",
                           .message = "granted"});
      } else {
        const Token token = static_cast<Token>(client.trial);
        for (int m = 0; m < 5; ++m)
          batch.Add(MeasurementRow{
              .token = token, .name = "measurement", .step = 100, .value = 1.5, .site = "", .final = true});
        batch.Add(CheckpointRow{
            .token = token, .step = 100, .sha256 = std::string(64, 'a'), .bytes = 1, .final = true});
        batch.Add(AttemptEnded{.token = token, .outcome = v1::SUCCEEDED, .failure = {}, .message = ""});
        batch.Add(TrialChange{.id = TrialId(client.trial), .state = v1::SUCCEEDED, .message = ""});
        batch.Add(EventRow{.kind = "stage_succeeded",
                           .stage = StageId(client.trial),
                           .worker = "worker",
                           .message = "succeeded"});
      }
      client.leased = !client.leased;
      const Timestamp sent = MonotonicNow();
      committer.Submit(std::move(batch), [&, c, sent](absl::Status status) {
        Check(status);
        latencies.push_back(Seconds(sent));
        step(c);
      });
    };
    // Tokens must be submitted in order: all clients live on the writer's thread after this one seed batch.
    committer.Submit(ChangeBatch(), [&](absl::Status) {
      for (int c = 0; c < clients; ++c) step(c);
    });
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return running == 0; });
  }
  const double seconds = Seconds(start);
  std::sort(latencies.begin(), latencies.end());
  std::printf(
      "life cycles, %4d clients: %6.0f trials/s, %6.0f batches/s in %.0f commits/s, latency p50 %.2f ms p99 "
      "%.2f ms, %.1f us of processor time a trial\n",
      clients, count / seconds, 2.0 * count / seconds, commits / seconds,
      1e3 * latencies[latencies.size() / 2], 1e3 * latencies[latencies.size() * 99 / 100],
      CpuMicroseconds() / count);
}

void Measurements(Store& store, Token token, int rows_a_batch, int total) {
  std::vector<ChangeBatch> batches;
  for (int first = 0; first < total; first += rows_a_batch) {
    ChangeBatch batch{.lane = Lane::kBulk, .changes = {}};
    for (int i = 0; i < rows_a_batch; ++i) {
      batch.Add(MeasurementRow{.token = token,
                               .name = "train_loss",
                               .step = static_cast<std::uint64_t>(first + i),
                               .value = 1.5,
                               .site = ""});
    }
    batches.push_back(std::move(batch));
  }
  CpuMicroseconds();
  const Timestamp start = MonotonicNow();
  {
    Committer committer(store, {}, [](absl::Status status) { Check(status); });
    for (ChangeBatch& batch : batches) committer.Submit(std::move(batch), nullptr);
    committer.Flush();
  }
  std::printf("measurements, %4d rows a batch: %.0f rows/s, %.2f us of processor time each\n", rows_a_batch,
              total / Seconds(start), CpuMicroseconds() / total);
}

void Measure(const std::filesystem::path& folder) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  auto database = Database::Open(folder);
  Check(database.status());
  Store store(**database);
  AddTrials(store);
  int next = 1;
  for (const auto& [clients, count] :
       std::vector<std::pair<int, int>>{{1, 3000}, {8, 10000}, {32, 15000}, {128, 15000}, {512, 15000}}) {
    Lifecycles(store, clients, next, count);
  }
  ChangeBatch live;
  live.Add(AttemptRow{
      .token = static_cast<Token>(next), .stage = StageId(next), .worker = "worker", .sweep = SweepId(1)});
  Check(store.Apply(live).status());
  for (const int rows : {1, 10, 100, 1000})
    Measurements(store, static_cast<Token>(next), rows, rows == 1 ? 100000 : 1000000);
  CpuMicroseconds();
  const Timestamp start = MonotonicNow();
  const auto snapshot = store.Load();
  Check(snapshot.status());
  std::printf("reload: %zu trials and %zu stages in %.0f ms\n", snapshot->trials.size(),
              snapshot->stages.size(), 1e3 * Seconds(start));
}

int Main(const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  Measure(folder);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) { return inlier::Main(argc > 1 ? argv[1] : "store_bench_state"); }
