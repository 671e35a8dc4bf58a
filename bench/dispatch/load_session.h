// One connected worker that ends every attempt at once, or on EndOldest: the protocol of a
// real worker (Session stream, syncs, numbered events kept until they are acknowledged) without a child
// process.
//
// Thread safety: all functions on any thread. Callbacks run on gRPC's threads; they must not block.
#ifndef INLIER_BENCH_DISPATCH_LOAD_SESSION_H_
#define INLIER_BENCH_DISPATCH_LOAD_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "inlier/v1/worker_service.grpc.pb.h"

namespace inlier {

class LoadSession final : public grpc::ClientBidiReactor<v1::WorkerSync, v1::CoordinatorSync> {
 public:
  struct Options {
    std::string incarnation;
    std::string version;
    std::uint32_t slots = 1;
    std::uint32_t points = 0;  // Measurements each evaluation sends before its outcome.
    bool holds = false;        // Attempts run until EndOldest ends them.
  };
  struct Hooks {
    std::function<void(const v1::Assignment&)> on_lease;    // For each new token.
    std::function<void(std::uint64_t count)> on_committed;  // Evaluations whose outcome was acknowledged.
    std::function<void(const grpc::Status&)> on_end;        // The stream has ended; the last call.
  };

  LoadSession(v1::WorkerService::Stub& stub, Options options, Hooks hooks);

  void Start();
  // Sends a sync when the coordinator's wish for one is due and none is under way.
  void Poll(Timestamp now);
  // Ends the attempt that runs longest; false: none does.
  bool EndOldest();
  void Cancel() { context_.TryCancel(); }
  // Measurements acknowledged so far.
  std::uint64_t points_committed() const;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  struct Sent {
    std::uint64_t sequence = 0;
    bool evaluation = false;
    bool point = false;
  };

  struct Running {
    std::uint64_t token = 0;
    std::uint32_t slot = 0;
    std::string stage_id;
    std::optional<std::uint64_t> train_steps;  // Absent: an evaluation.
  };

  void Run(const v1::Assignment& assignment);
  void End(const Running& attempt);
  v1::TrialEvent& NextEvent(std::uint64_t token);
  // REQUIRES: the lock is held and no write is under way.
  void SendSync();

  v1::WorkerService::Stub& stub_;
  const Options options_;
  const Hooks hooks_;
  grpc::ClientContext context_;
  v1::CoordinatorSync answer_;

  mutable std::mutex mutex_;
  v1::WorkerSync sync_;  // Being written.
  v1::WorkerSync next_;  // Only the events of the next one.
  bool writing_ = false, started_ = false, ended_ = false;
  bool unanswered_ = false;
  std::uint64_t sync_id_ = 0, sequence_ = 0, points_committed_ = 0;
  std::set<std::uint64_t> seen_;     // Tokens of the latest answer that have been run.
  std::deque<Running> running_;      // Held, the oldest first.
  std::deque<Sent> unacknowledged_;  // Outcomes of evaluations, and points.
  Timestamp due_;                    // When the coordinator wants to hear from us.
};

}  // namespace inlier

#endif  // INLIER_BENCH_DISPATCH_LOAD_SESSION_H_
