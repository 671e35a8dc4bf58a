// How a gRPC call is served: on gRPC's thread, on the coordinator's thread, or, when it blocks, on one of
// three small pools, so that short reads of the database, tables and users' SQL never wait for one another. A
// caller has a share of each pool.
//
// Thread safety: all functions may be called from any thread.
#ifndef INLIER_COORDINATOR_SERVICES_CALLS_H_
#define INLIER_COORDINATOR_SERVICES_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/services/audit.h"
#include "coordinator/services/blocking_pool.h"
#include "coordinator/services/call_stream.h"
#include "coordinator/services/coordinator_loop.h"
#include "rpc/rpc.h"

namespace inlier {

class Calls {
 public:
  // Threads, and calls at once, of one caller.
  static constexpr BlockingPool::Limits kReads = BlockingPool::ByCaller(2, 64);
  static constexpr BlockingPool::Limits kTables = BlockingPool::ByCaller(1, 16);
  static constexpr BlockingPool::Limits kQueries = BlockingPool::ByCaller(2, 10);

  // All outlive it. Refused calls go into the audit from now on.
  Calls(CoordinatorLoop& loop, CallBounds& bounds);

  void Join() {
    for (BlockingPool* pool : {&reads_, &tables_, &queries_}) pool->Join();
  }

  // Answers a unary call: `work(reply)` runs on gRPC's thread and calls `reply` once, then or later.
  template <typename Response, typename Work>
  void OnCaller(UnaryContext* context, Response* response, Work work) {
    Reply<Response> reply = [=, this, started = MonotonicNow()](absl::StatusOr<Response> result) {
      const grpc::Status status = ToGrpcStatus(result.status());
      if (result.ok()) *response = *std::move(result);
      bounds_.Observe(context->method(), status, started);
      AddNotice(context->server_context());
      context->Reply(status);
    };
    work(std::move(reply));
  }

  // The same with `work(reply)` on the coordinator's thread.
  template <typename Response, typename Work>
  void OnLoop(UnaryContext* context, Response* response, Work work) {
    OnCaller(context, response, [this, work = std::move(work)](Reply<Response> reply) mutable {
      loop_.Post([work = std::move(work), reply = std::move(reply)] { work(reply); });
    });
  }

  // The same on a pool, for `work()` that blocks and returns a StatusOr<Response>.
  template <typename Response, typename Work>
  void OnPool(BlockingPool& pool, UnaryContext* context, Response* response, Work work) {
    OnCaller(context, response, [&pool, context, work = std::move(work)](Reply<Response> reply) mutable {
      const auto run = [context, work = std::move(work), reply] {
        if (context->server_context().IsCancelled())
          return reply(absl::CancelledError("the caller has gone"));
        reply(work());
      };
      pool.Run(context->caller().name, run, reply);
    });
  }

  // A user's call that changes something: replies with the response of `decide(orchestrator, now, effects)`
  // to `request`, once it is durable with its row of the audit (`row`: Audit::RowOf). On the coordinator's
  // thread.
  template <typename Request, typename Response, typename Decide>
  void DecideAudited(const AuditRow& row, const Request& request, Decide decide, Reply<Response> reply) {
    loop_.Decide(
        [&](Orchestrator& orchestrator, Moment now, Effects& effects) {
          absl::StatusOr<Response> response = decide(orchestrator, now, effects);
          AuditRow named = row;
          Audit::NameSubject(orchestrator.state(), request, named);
          if (response.ok()) Audit::NameSubject(orchestrator.state(), *response, named);
          audit_.Add(std::move(named), response.status(), now, loop_.StoreHealth().status.ok(), effects);
          return response;
        },
        std::move(reply));
  }

  BlockingPool& reads() { return reads_; }
  BlockingPool& tables() { return tables_; }
  BlockingPool& queries() { return queries_; }

  // Adds a notice to the answer while the store takes no changes.
  void AddNotice(grpc::CallbackServerContext& context);

  CoordinatorLoop& loop() { return loop_; }
  Access& access() { return bounds_.access; }
  CallBounds& bounds() { return bounds_; }

 private:
  CoordinatorLoop& loop_;
  CallBounds& bounds_;
  Audit audit_;
  BlockingPool reads_{kReads, "reads of the database"};
  BlockingPool tables_{kTables, "tables"};
  BlockingPool queries_{kQueries, "queries"};
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_CALLS_H_
