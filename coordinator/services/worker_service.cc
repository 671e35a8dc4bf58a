#include "coordinator/services/worker_service.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "coordinator/services/request_limits.h"
#include "inlier/v1/worker_service.grpc.pb.h"

namespace inlier {
namespace {

// Counts a sync for a worker of another caller as a refused call.
void CountForeign(Calls& calls, CallStream& call, const absl::Status& status) {
  if (absl::IsPermissionDenied(status))
    calls.access().CountForbidden(call.server_context(), call.caller(), call.method(), status);
}

// One worker's stream: a sync is read, answered, and the next one is read. Between an answer and the next
// sync the worker listens: pushes are written while the next read waits. At most one write is under way; an
// answer waits for it and replaces waiting pushes. Finish is called once.
class SessionReactor final : public CallStream,
                             public Listener,
                             public std::enable_shared_from_this<SessionReactor> {
 public:
  SessionReactor(Calls& calls, AdmittedCall call)
      : CallStream(std::move(call), calls.bounds().session_silence), calls_(calls) {}

  // Keeps itself alive until the last reaction.
  void Start() {
    self_ = shared_from_this();
    Read(sync_);
  }

  void OnMessage(absl::StatusOr<bool> got) override {
    if (got.ok() && !*got) {
      const std::lock_guard lock(mutex_);
      End(grpc::Status::OK);  // The worker has closed its side.
      return;
    }
    started_ = MonotonicNow();
    {
      const std::lock_guard lock(mutex_);
      ++heard_;
    }
    absl::Status status = got.status();
    if (status.ok()) status = CheckLimits(sync_);
    if (!status.ok()) return Answer(std::move(status));
    calls_.loop().Post([self = self_] {
      self->calls_.loop().Sync(
          self->sync_, /*by_stream=*/true, self->caller().name,
          [self](absl::StatusOr<v1::CoordinatorSync> reply) { self->Answer(std::move(reply)); });
    });
  }

  void OnWritten(bool ok) override {
    if (AnswerWritten(ok)) {
      // Before the next sync can come and end the listening.
      calls_.loop().Post([self = self_, incarnation = sync_.incarnation(), heard = heard_] {
        self->listens_as_ = incarnation;
        self->calls_.loop().Listen(incarnation, {self, heard});
      });
      Read(sync_);
    }
    const std::lock_guard lock(mutex_);
    if (!ended_ && !writing_) WriteNext();
  }

  void OnEnded() override {
    calls_.loop().Post(
        [self = std::move(self_)] { self->calls_.loop().Unlisten(self->listens_as_, self.get()); });
  }

  void Push(std::uint64_t heard, v1::CoordinatorSync push) override {
    const std::lock_guard lock(mutex_);
    if (ended_ || heard != heard_) return;
    next_push_ = std::move(push);
    if (!writing_) WriteNext();
  }

 private:
  // A write has ended; true if it was the answer to a sync.
  bool AnswerWritten(bool ok) {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) End(grpc::Status(grpc::StatusCode::CANCELLED, "the worker has gone"));
    return std::exchange(answering_, false) && !ended_;
  }

  void Answer(absl::StatusOr<v1::CoordinatorSync> reply) {
    const grpc::Status status = ToGrpcStatus(reply.status());
    bounds().Observe(method(), status, started_);
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    CountForeign(calls_, *this, reply.status());  // Before Finish ends the context.
    if (!reply.ok()) return End(status);
    next_push_.reset();  // The answer contains the same or more.
    next_answer_ = *std::move(reply);
    if (!writing_) WriteNext();
  }

  // The two below require the lock.
  void WriteNext() {
    if (next_answer_) {
      written_ = *std::exchange(next_answer_, std::nullopt);
      answering_ = true;
    } else if (next_push_) {
      written_ = *std::exchange(next_push_, std::nullopt);
    } else {
      return;
    }
    writing_ = true;
    Write(written_);
  }
  void End(const grpc::Status& status) {
    if (!std::exchange(ended_, true)) Finish(status);
  }

  Calls& calls_;
  std::shared_ptr<SessionReactor> self_;
  std::string listens_as_;  // Used on the coordinator's thread.
  v1::WorkerSync sync_;
  Timestamp started_;

  std::mutex mutex_;
  std::uint64_t heard_ = 0;  // Syncs read; none is while an answer is on its way.
  v1::CoordinatorSync written_;
  std::optional<v1::CoordinatorSync> next_answer_, next_push_;
  bool writing_ = false, answering_ = false, ended_ = false;
};

void Sync(Calls& calls, UnaryContext* context, const v1::WorkerSync* sync, v1::CoordinatorSync* response) {
  calls.OnCaller(context, response, [=, &calls](Reply<v1::CoordinatorSync> reply) {
    if (absl::Status status = CheckLimits(*sync); !status.ok()) return reply(status);
    calls.loop().Post([=, &calls] {
      calls.loop().Sync(*sync, /*by_stream=*/false, context->caller().name,
                        [=, &calls](absl::StatusOr<v1::CoordinatorSync> answer) {
                          CountForeign(calls, *context, answer.status());
                          reply(std::move(answer));
                        });
    });
  });
}

}  // namespace

void AddWorkerService(Door& door, Calls& calls) {
  const std::string name = v1::WorkerService::service_full_name();
  door.Add<v1::WorkerSync, v1::CoordinatorSync>(
      name, "Sync",
      [&calls](auto* context, auto* sync, auto* response) { Sync(calls, context, sync, response); });
  door.AddStream(name, "Session", [&calls](AdmittedCall call) {
    const auto session = std::make_shared<SessionReactor>(calls, std::move(call));
    session->Start();
    return session.get();
  });
}

}  // namespace inlier
