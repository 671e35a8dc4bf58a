// The load of dispatch_load: connected workers that end attempts at once or at a rate, and the client that
// submits to them.
//
// Any error ends the process with a message.
// Thread safety: Load: any thread. SteadyLoad: none.
#ifndef INLIER_BENCH_DISPATCH_LOAD_H_
#define INLIER_BENCH_DISPATCH_LOAD_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "bench/dispatch/load_session.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "inlier/v1/worker_service.grpc.pb.h"

namespace inlier {

struct LoadOptions {
  std::string address = "127.0.0.1:7420";
  std::string disk;  // Folder whose disk is timed.
  // Of a coordinator that checks its callers: the files with the tokens of the workers and of the client.
  std::string worker_token_file, token_file;
  std::uint32_t trials = 20'000;
  std::uint32_t evaluations = 1;
  std::uint32_t sessions = 64;
  std::uint32_t slots = 16;
  std::uint32_t points = 0;
  std::uint32_t first_seed = 1;
  std::uint32_t load = 0;       // Trials a second, in addition to those whose latency is taken.
  std::uint32_t pause_ms = 0;   // Longest time between two of those, at random; 0: a short one.
  std::uint32_t bursts_ms = 0;  // Period of the sweeps that bring them; 0: one sweep that keeps running.

  // The sessions end attempts at the rate of `load`, not at once.
  bool Paced() const { return load > 0 && bursts_ms == 0; }
};

[[noreturn]] void Die(const std::string& message);

// `trainings` of them, from that seed on, with options.evaluations each.
v1::SubmitSweepRequest SweepOf(const LoadOptions& options, const std::string& name, std::uint32_t seed,
                               std::uint32_t trainings);

// The sessions, and what came of them.
class Load {
 public:
  explicit Load(const LoadOptions& options);
  ~Load();

  // Returns the sweep's id.
  std::string Submit(const v1::SubmitSweepRequest& request);
  void CancelSweep(const std::string& sweep);
  // A call that is refused at once: what gRPC itself takes.
  void AskInVain();

  void WaitForCommitted(std::uint64_t count);
  // When the first stage with that seed was leased; it is awaited from ExpectSeed on.
  void ExpectSeed(std::uint32_t seed);
  Timestamp WaitForExpected();
  std::uint64_t leases();
  std::uint64_t committed();
  std::uint64_t points_committed() const;

 private:
  static constexpr int kChannels = 4;

  // Ends that many attempts, from session to session; the fraction is kept for the next call.
  void EndAttempts(double count);
  void OnLease(const v1::Assignment& assignment);
  void OnCommitted(std::uint64_t count);
  void OnEnd(const grpc::Status& status);

  const LoadOptions options_;
  std::vector<std::unique_ptr<v1::WorkerService::Stub>> workers_;
  std::unique_ptr<v1::SweepService::Stub> sweeps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t committed_ = 0, leases_ = 0, ended_ = 0;
  std::uint64_t awaited_ = 0;        // Count of committed trials that wakes the waiting thread.
  std::uint32_t expected_ = 0;       // The seed whose lease is awaited.
  std::string expected_bytes_;       // expected_ as serialised in a specification.
  std::optional<Timestamp> leased_;  // When it was.
  bool broken_ = false;
  std::string problem_;
  std::atomic<bool> stop_ = false;
  std::vector<std::unique_ptr<LoadSession>> sessions_;
  double owed_ = 0;  // Attempts to be ended. The poller's, as the next one.
  std::size_t next_ended_ = 0;
  std::thread poller_;
};

// Trials at a steady rate, as long as it lives: of one sweep that runs all the time in half of the slots, or
// of a new one every bursts_ms.
class SteadyLoad {
 public:
  SteadyLoad(Load& load, LoadOptions options);
  ~SteadyLoad() { Stop(); }
  void Stop();
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

}  // namespace inlier

#endif  // INLIER_BENCH_DISPATCH_LOAD_H_
