#include "worker/sync_call.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

class StreamCall final : public SyncCall,
                         public grpc::ClientBidiReactor<v1::WorkerSync, v1::CoordinatorSync> {
 public:
  StreamCall(v1::WorkerService::Stub& stub, SyncInbox& inbox) : inbox_(inbox) {
    stub.async()->Session(&context_, this);
    // Held until Finish(), so that Send() never uses a call that has ended.
    AddHold();
    StartRead(&answer_);
    StartCall();
    const std::lock_guard lock(inbox_.mutex);
    inbox_.sendable = true;
  }

  void Send(v1::WorkerSync sync) override {
    INLIER_CHECK(!finished_);
    sync_ = std::move(sync);
    StartWrite(&sync_);
  }
  void Cancel() override {
    context_.TryCancel();
    Finish();
  }
  void Finish() override {
    if (!std::exchange(finished_, true)) RemoveHold();
  }
  const char* mode() const override { return "stream"; }

  void OnReadDone(bool ok) override {
    {
      const std::lock_guard lock(inbox_.mutex);
      if (ok) inbox_.answers.push_back(answer_);
      inbox_.broken = inbox_.broken || !ok;
      inbox_.changed.notify_all();
    }
    if (ok) StartRead(&answer_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(inbox_.mutex);
    inbox_.sendable = ok;
    inbox_.broken = inbox_.broken || !ok;
    inbox_.changed.notify_all();
  }

  void OnDone(const grpc::Status& status) override {
    // The owner may destroy this object as soon as it reads the end: no member is used after.
    SyncInbox& inbox = inbox_;
    const std::lock_guard lock(inbox.mutex);
    inbox.ended = FromGrpcStatus(status);
    inbox.changed.notify_all();
  }

 private:
  SyncInbox& inbox_;
  grpc::ClientContext context_;
  v1::WorkerSync sync_;
  v1::CoordinatorSync answer_;
  bool finished_ = false;
};

class UnaryCall final : public SyncCall {
 public:
  UnaryCall(v1::WorkerService::Stub& stub, SyncInbox& inbox, Duration answer_timeout)
      : stub_(stub), inbox_(inbox), answer_timeout_(answer_timeout) {
    const std::lock_guard lock(inbox_.mutex);
    inbox_.sendable = true;
  }

  void Send(v1::WorkerSync sync) override {
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_deadline(std::chrono::system_clock::now() +
                           std::chrono::duration_cast<std::chrono::system_clock::duration>(answer_timeout_));
    sync_ = std::move(sync);
    in_flight_ = true;
    stub_.async()->Sync(context_.get(), &sync_, &answer_, [this](const grpc::Status& status) {
      SyncInbox& inbox = inbox_;
      const std::lock_guard lock(inbox.mutex);
      in_flight_ = false;
      if (cancelled_) {
        inbox.ended = absl::CancelledError("ended by the worker");
      } else if (status.ok()) {
        inbox.answers.push_back(std::move(answer_));
        inbox.sendable = true;
      } else {
        inbox.ended = FromGrpcStatus(status);
      }
      inbox.changed.notify_all();
    });
  }

  void Cancel() override {
    if (context_) context_->TryCancel();
    const std::lock_guard lock(inbox_.mutex);
    cancelled_ = true;
    // Without a call in flight no callback will report the end.
    if (!in_flight_ && !inbox_.ended) inbox_.ended = absl::CancelledError("ended by the worker");
  }
  void Finish() override {}
  const char* mode() const override { return "unary"; }

 private:
  v1::WorkerService::Stub& stub_;
  SyncInbox& inbox_;
  Duration answer_timeout_;
  std::unique_ptr<grpc::ClientContext> context_;
  v1::WorkerSync sync_;
  v1::CoordinatorSync answer_;
  bool in_flight_ = false;  // Guarded by the inbox, as is the next.
  bool cancelled_ = false;
};

}  // namespace

std::unique_ptr<SyncCall> OpenStreamCall(v1::WorkerService::Stub& stub, SyncInbox& inbox) {
  return std::make_unique<StreamCall>(stub, inbox);
}

std::unique_ptr<SyncCall> OpenUnaryCall(v1::WorkerService::Stub& stub, SyncInbox& inbox,
                                        Duration answer_timeout) {
  return std::make_unique<UnaryCall>(stub, inbox, answer_timeout);
}

}  // namespace inlier
