// How one gRPC call is served: on the coordinator's thread, or, when it blocks, on a small pool. Every
// service method is a few lines on top of these.
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
#include "base/service/rpc.h"
#include "base/time.h"
#include "coordinator/metrics.h"
#include "coordinator/services/access.h"
#include "coordinator/services/shell.h"

namespace inlier {

class Calls {
 public:
  static constexpr int kBlockingThreads = 2;
  static constexpr int kBlockingCallsMax =
      64;  // At once, waiting ones included; more are RESOURCE_EXHAUSTED.

  // All outlive it.
  Calls(Shell& shell, CoordinatorMetrics& metrics, Access& access)
      : shell_(shell), metrics_(metrics), access_(access), pool_(kBlockingThreads) {}

  // Waits for the blocking calls that run.
  void Join() { pool_.join(); }

  // Answers a unary call that the caller may make: `work(reply)` runs on the caller's own thread, without the
  // turn, and calls `reply` once, then or later.
  template <typename Response, typename Work>
  grpc::ServerUnaryReactor* OnCaller(grpc::CallbackServerContext* context, const char* method,
                                     Response* response, Work work) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();  // May be asked for once.
    Shell::Reply<Response> reply = ReplyTo(reactor, method, response);
    if (absl::Status admitted = access_.Admit(*context, method); !admitted.ok()) {
      reply(std::move(admitted));
    } else {
      work(std::move(reply));
    }
    return reactor;
  }

  // The same with `work(reply)` having the turn.
  template <typename Response, typename Work>
  grpc::ServerUnaryReactor* OnShell(grpc::CallbackServerContext* context, const char* method,
                                    Response* response, Work work) {
    return OnCaller(context, method, response,
                    [this, work = std::move(work)](Shell::Reply<Response> reply) mutable {
                      shell_.RunSoon([work = std::move(work), reply = std::move(reply)] { work(reply); });
                    });
  }

  // The same on the pool, for `work(reply)` that blocks.
  template <typename Response, typename Work>
  grpc::ServerUnaryReactor* OnPoolThen(grpc::CallbackServerContext* context, const char* method,
                                       Response* response, Work work) {
    return OnCaller(context, method, response,
                    [this, work = std::move(work)](Shell::Reply<Response> reply) mutable {
                      RunBlocking([work = std::move(work), reply] { work(reply); }, reply);
                    });
  }

  // The same for `work()` that returns a StatusOr<Response>.
  template <typename Response, typename Work>
  grpc::ServerUnaryReactor* OnPool(grpc::CallbackServerContext* context, const char* method,
                                   Response* response, Work work) {
    return OnPoolThen(context, method, response,
                      [work = std::move(work)](const Shell::Reply<Response>& reply) { reply(work()); });
  }

  // Runs `work` on the pool, or `refuse` at once when too much waits there.
  void RunBlocking(std::function<void()> work, std::function<void(absl::Status)> refuse);

  // Counts a call that was answered by other means.
  void Observe(const char* method, const grpc::Status& status, Timestamp begun);

  // The same at the start of a call that is answered by other means: refused ones are counted here.
  absl::Status Admit(grpc::CallbackServerContext& context, const char* method) {
    const Timestamp begun = MonotonicNow();
    const absl::Status admitted = access_.Admit(context, method);
    if (!admitted.ok()) Observe(method, ToGrpcStatus(admitted), begun);
    return admitted;
  }

  Shell& shell() { return shell_; }
  Access& access() { return access_; }

 private:
  template <typename Response>
  Shell::Reply<Response> ReplyTo(grpc::ServerUnaryReactor* reactor, const char* method, Response* response) {
    return [this, reactor, method, response, begun = MonotonicNow()](absl::StatusOr<Response> result) {
      const grpc::Status status = ToGrpcStatus(result.status());
      if (result.ok()) *response = *std::move(result);
      Observe(method, status, begun);
      reactor->Finish(status);
    };
  }
  Shell& shell_;
  CoordinatorMetrics& metrics_;
  Access& access_;
  boost::asio::thread_pool pool_;
  std::atomic<int> blocking_{0};
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_CALLS_H_
