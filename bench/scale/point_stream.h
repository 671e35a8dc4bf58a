// One connected worker whose training never ends and reports measurements as fast as they are acknowledged: a
// batch is sent, and when its answer acknowledges it, the next one.
//
// Thread safety: all functions on any thread. Callbacks run on gRPC's threads; they must not block.
#ifndef INLIER_BENCH_SCALE_POINT_STREAM_H_
#define INLIER_BENCH_SCALE_POINT_STREAM_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/time.h"
#include "inlier/v1/worker_service.grpc.pb.h"

namespace inlier {

class PointStream final : public grpc::ClientBidiReactor<v1::WorkerSync, v1::CoordinatorSync> {
 public:
  struct Options {
    std::string incarnation;
    std::string version;
    std::uint32_t batch = 500;  // Points of a sync.
    Duration interval{};        // From one sync to the next at least; zero: as fast as they are acknowledged.
  };
  struct Progress {
    std::uint64_t token = 0;         // 0: it has no lease yet.
    std::uint64_t sent = 0;          // Points handed to gRPC.
    std::uint64_t acknowledged = 0;  // Points that the coordinator reported as committed.
    bool ended = false;
    std::string problem;  // Why the stream ended.
  };

  // `on_change` is called when it has its lease and when the stream has ended.
  PointStream(v1::WorkerService::Stub& stub, Options options, std::function<void()> on_change);

  void Start();
  // Sends what is due; to be called often where `interval` is not zero.
  void Poll(Timestamp now);
  // Sends no more points; those that are under way are still acknowledged.
  void Rest();
  void Cancel() { context_.TryCancel(); }
  Progress progress() const;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  // REQUIRES of both: the lock is held.
  void SendIfDue(Timestamp now);
  // REQUIRES: no write is under way.
  void SendSync();

  v1::WorkerService::Stub& stub_;
  const Options options_;
  const std::function<void()> on_change_;
  grpc::ClientContext context_;
  v1::CoordinatorSync answer_;

  mutable std::mutex mutex_;
  v1::WorkerSync sync_;
  Progress progress_;
  std::string stage_;
  std::uint64_t sync_id_ = 0;
  Timestamp due_;
  bool writing_ = false, answered_ = false, resting_ = false, held_ = true;
};

}  // namespace inlier

#endif  // INLIER_BENCH_SCALE_POINT_STREAM_H_
