// How a gRPC call is served: on gRPC's thread, on the coordinator's thread, or, when it blocks, on a small
// pool. Every service method is a few lines on top of these.
//
// Thread safety: all functions may be called from any thread.
#ifndef INLIER_COORDINATOR_SERVICES_CALLS_H_
#define INLIER_COORDINATOR_SERVICES_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/metrics.h"
#include "coordinator/services/call_stream.h"
#include "coordinator/services/coordinator_loop.h"
#include "rpc/rpc.h"

namespace inlier {

class Calls {
 public:
  static constexpr int kBlockingThreads = 2;
  // At once, queued ones included; more are RESOURCE_EXHAUSTED.
  static constexpr int kBlockingCallsMax = 64;

  // All outlive it.
  Calls(CoordinatorLoop& loop, CoordinatorMetrics& metrics, CallBounds& bounds)
      : loop_(loop), metrics_(metrics), bounds_(bounds), pool_(kBlockingThreads) {}

  // Waits for the blocking calls that run.
  void Join() { pool_.join(); }

  // Answers a unary call: `work(reply)` runs on gRPC's thread and calls `reply` once, then or later.
  template <typename Response, typename Work>
  void OnCaller(UnaryContext* context, const char* method, Response* response, Work work) {
    Reply<Response> reply = [=, this, started = MonotonicNow()](absl::StatusOr<Response> result) {
      const grpc::Status status = ToGrpcStatus(result.status());
      if (result.ok()) *response = *std::move(result);
      Observe(method, status, started);
      context->Reply(status);
    };
    work(std::move(reply));
  }

  // The same with `work(reply)` on the coordinator's thread.
  template <typename Response, typename Work>
  void OnLoop(UnaryContext* context, const char* method, Response* response, Work work) {
    OnCaller(context, method, response, [this, work = std::move(work)](Reply<Response> reply) mutable {
      loop_.Post([work = std::move(work), reply = std::move(reply)] { work(reply); });
    });
  }

  // The same on the pool, for `work()` that blocks and returns a StatusOr<Response>.
  template <typename Response, typename Work>
  void OnPool(UnaryContext* context, const char* method, Response* response, Work work) {
    OnCaller(context, method, response, [this, work = std::move(work)](Reply<Response> reply) mutable {
      RunBlocking([work = std::move(work), reply] { reply(work()); }, reply);
    });
  }

  // Runs `work` on the pool, or calls `refuse` at once when too many calls wait there.
  void RunBlocking(std::function<void()> work, std::function<void(absl::Status)> refuse);

  // Counts a call that is not answered by the functions above.
  void Observe(const char* method, const grpc::Status& status, Timestamp started);

  CoordinatorLoop& loop() { return loop_; }
  Access& access() { return bounds_.access; }
  CallBounds& bounds() { return bounds_; }

 private:
  CoordinatorLoop& loop_;
  CoordinatorMetrics& metrics_;
  CallBounds& bounds_;
  boost::asio::thread_pool pool_;
  std::atomic<int> blocking_{0};
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_CALLS_H_
