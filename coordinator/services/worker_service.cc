#include "coordinator/services/worker_service.h"

#include <utility>

namespace inlier {
namespace {

// One worker's stream. Read, post, write, and so on; exactly one of these is under way at any time, so Finish
// is called once, and the object lives until OnDone.
class SessionReactor final : public grpc::ServerBidiReactor<v1::WorkerSync, v1::CoordinatorSync> {
 public:
  SessionReactor(Calls& calls, grpc::CallbackServerContext& context) : calls_(calls), context_(context) {
    if (const absl::Status admitted = calls_.Admit(context_, "Session"); !admitted.ok()) {
      Finish(ToGrpcStatus(admitted));
    } else {
      StartRead(&sync_);
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);  // The worker has nothing more to say.
      return;
    }
    begun_ = MonotonicNow();
    if (absl::Status admitted = calls_.access().AdmitWorker(context_, sync_.incarnation()); !admitted.ok()) {
      Answer(std::move(admitted));
      return;
    }
    calls_.shell().Post([this] {
      calls_.shell().Sync(sync_,
                          [this](absl::StatusOr<v1::CoordinatorSync> reply) { Answer(std::move(reply)); });
    });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the worker has gone"));
      return;
    }
    sync_.Clear();
    StartRead(&sync_);
  }

  void OnDone() override { delete this; }

 private:
  void Answer(absl::StatusOr<v1::CoordinatorSync> reply) {
    const grpc::Status status = ToGrpcStatus(reply.status());
    calls_.Observe("Session", status, begun_);
    if (!reply.ok()) {
      Finish(status);
      return;
    }
    reply_ = *std::move(reply);
    StartWrite(&reply_);
  }

  Calls& calls_;
  grpc::CallbackServerContext& context_;
  v1::WorkerSync sync_;
  v1::CoordinatorSync reply_;
  Timestamp begun_;
};

}  // namespace

grpc::ServerBidiReactor<v1::WorkerSync, v1::CoordinatorSync>* WorkerService::Session(
    grpc::CallbackServerContext* context) {
  return new SessionReactor(calls_, *context);
}

grpc::ServerUnaryReactor* WorkerService::Sync(grpc::CallbackServerContext* context,
                                              const v1::WorkerSync* sync, v1::CoordinatorSync* reply) {
  const auto work = [this, context, sync](Shell::Reply<v1::CoordinatorSync> answer) {
    if (absl::Status own = calls_.access().AdmitWorker(*context, sync->incarnation()); !own.ok())
      return answer(std::move(own));
    calls_.shell().Sync(*sync, std::move(answer));
  };
  return calls_.OnShell(context, "Sync", reply, work);
}

}  // namespace inlier
