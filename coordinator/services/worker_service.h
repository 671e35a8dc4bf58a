// The gRPC service for workers: Session (a stream of syncs) and Sync (a unary call), both answered by the same
// handler.
//
// A session takes one sync at a time: the next is read when the answer to the last has been written, so that
// a worker can never make the coordinator hold more than one of its messages.
//
// Thread safety: gRPC calls it on its own threads; it only posts to the loop.
#ifndef INLIER_COORDINATOR_SERVICES_WORKER_SERVICE_H_
#define INLIER_COORDINATOR_SERVICES_WORKER_SERVICE_H_

#include "coordinator/services/calls.h"
#include "inlier/v1/worker_service.grpc.pb.h"

namespace inlier {

class WorkerService final : public v1::WorkerService::CallbackService {
 public:
  // `calls` outlives it.
  explicit WorkerService(Calls& calls) : calls_(calls) {}

  grpc::ServerBidiReactor<v1::WorkerSync, v1::CoordinatorSync>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context, const v1::WorkerSync* sync,
                                 v1::CoordinatorSync* reply) override;

 private:
  Calls& calls_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_WORKER_SERVICE_H_
