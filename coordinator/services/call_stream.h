// A call as the services see it: messages instead of bytes, each read within bounds.
//
// Every call has been admitted on its metadata before a byte of its messages is read (door.h). A message is
// parsed only where it will not take too much memory, alone or with all that its caller holds. A call whose
// caller neither sends nor reads times out, so that no caller occupies a place by doing nothing.
//
// gRPC has a few threads for all callers, and what takes long on them delays every call. So a heavy message,
// of more than about a third of a millisecond of work, is read on a thread of its own, where callers take
// turns; sweeps are checked there, too.
//
// Thread safety: that of gRPC's reactors: reactions of one call may run concurrently, on any thread.
#ifndef INLIER_COORDINATOR_SERVICES_CALL_STREAM_H_
#define INLIER_COORDINATOR_SERVICES_CALL_STREAM_H_

#include <google/protobuf/message.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/services/access.h"
#include "coordinator/services/blocking_pool.h"
#include "coordinator/services/byte_shares.h"
#include "rpc/rpc.h"

namespace inlier {

class CallStream;

// The state that all calls of the server share.
class CallBounds {
 public:
  // A caller may be silent, or leave an answer unread, for so long; a session has a time of its own.
  static constexpr Duration kSilence = std::chrono::seconds(60);

  CallBounds(Access& access, CoordinatorMetrics& metrics, Duration session_silence)
      : access(access), session_silence(session_silence), metrics_(metrics) {}

  // Ends the calls whose callers have been silent for too long.
  void Expire(Timestamp now);
  // Ends the call of `method` whose caller has been silent longest, at least `least`, to free its place.
  // False: there is none.
  bool EndLongestSilence(const char* method, Timestamp now, Duration least);

  // Runs `work` on the thread of heavy messages in the turn of `caller`; or `refuse`, after Stop with
  // UNAVAILABLE.
  void RunHeavy(const std::string& caller, std::function<void()> work,
                std::function<void(absl::Status)> refuse);
  // Refuses heavy messages that wait, in their turn.
  void Stop() { stopping_ = true; }

  void Observe(const char* method, const grpc::Status& status, Timestamp started);

  Access& access;
  const Duration session_silence;
  ByteShares bytes;

 private:
  friend class CallStream;

  CoordinatorMetrics& metrics_;
  std::mutex mutex_;
  std::set<CallStream*> open_;
  std::atomic<bool> stopping_{false};
  BlockingPool heavy_{{}, "large requests"};  // The last one: its calls use the others.
};

struct AdmittedCall {
  grpc::CallbackServerContext& context;
  CallBounds& bounds;
  Admission admission;
};

class CallStream : public grpc::ServerGenericBidiReactor {
 public:
  const Caller& caller() const { return admission_.caller(); }
  const char* method() const { return admission_.method(); }
  grpc::CallbackServerContext& server_context() { return context_; }
  // OK while its credentials are in force.
  absl::Status StillAdmitted() { return bounds_.access.Recheck(context_, admission_); }

 protected:
  // Longer messages are heavy, and those that need so much more memory than their bytes.
  static constexpr std::size_t kLightBytes = 64 << 10;

  // `silence`: the longest wait for a message.
  explicit CallStream(AdmittedCall call, Duration silence = CallBounds::kSilence);

  // Reads the next message; OnMessage follows once. One at a time. A message that is only copied is heavy
  // above `light` bytes.
  void Read(google::protobuf::Message& message, std::size_t light = kLightBytes);
  // Sends `message`; OnWritten follows. One at a time.
  void Write(const google::protobuf::Message& message);
  // Sends `message` and ends the call with OK; or refuses it where unread answers leave no room.
  void WriteAndFinish(const google::protobuf::Message& message);

  // True: the message is there. False: the caller has closed its side, or is gone. Else why the call must
  // end.
  virtual void OnMessage(absl::StatusOr<bool> got) = 0;
  virtual void OnWritten(bool) {}
  // The last reaction.
  virtual void OnEnded() { delete this; }

  CallBounds& bounds() { return bounds_; }

 private:
  friend class CallBounds;
  static constexpr Timestamp kNever{Duration::max()};

  bool IsSilent(Timestamp now) const {
    return reads_since_.load() <= now - silence_ || writes_since_.load() <= now - CallBounds::kSilence;
  }
  Timestamp silent_since() const { return std::min(reads_since_.load(), writes_since_.load()); }
  // Returns a function that ends the call, to be run without the lock of the bounds.
  std::function<void()> TimeOut();

  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnDone() final;
  void Got(const absl::Status& status);
  absl::Status Parse(std::size_t most);
  void Release() {
    if (holds_.fetch_sub(1) == 1) OnEnded();
  }

  grpc::CallbackServerContext& context_;
  CallBounds& bounds_;
  Admission admission_;
  const Duration silence_;
  std::atomic<int> holds_{1};
  std::atomic<bool> timed_out_{false};
  // Since when the call waits for a message, or for its answer to be read.
  std::atomic<Timestamp> reads_since_{kNever}, writes_since_{kNever};
  google::protobuf::Message* message_ = nullptr;
  std::size_t light_ = 0;
  grpc::ByteBuffer in_, out_;
  std::shared_ptr<void> held_, held_answer_;  // Shares of the message's and the answer's bytes.
};

// A call with one message and one answer, as its handler sees it.
class UnaryContext : public CallStream {
 public:
  // Answers, with the response if `status` is OK. Once.
  virtual void Reply(const grpc::Status& status) = 0;

 protected:
  using CallStream::CallStream;
};

template <typename Request, typename Response>
class UnaryCall final : public UnaryContext {
 public:
  using Handler = std::function<void(UnaryContext*, const Request*, Response*)>;
  // `handler` outlives it; it is not run for a call whose message does not come or is refused.
  UnaryCall(AdmittedCall call, const Handler& handler) : UnaryContext(std::move(call)), handler_(handler) {
    Read(request_);
  }

  void Reply(const grpc::Status& status) override {
    if (!status.ok()) return Finish(status);
    Response answer;  // The caller may let its bytes wait; the message is freed meanwhile.
    answer.Swap(&response_);
    WriteAndFinish(answer);
  }

 private:
  void OnMessage(absl::StatusOr<bool> got) override {
    if (got.ok() && *got) return handler_(this, &request_, &response_);
    const grpc::Status status =
        ToGrpcStatus(got.ok() ? absl::CancelledError("the call has no message") : got.status());
    bounds().Observe(method(), status, started_);
    Finish(status);
  }

  const Handler& handler_;
  const Timestamp started_ = MonotonicNow();
  Request request_;
  Response response_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_CALL_STREAM_H_
