// A call as the services see it: messages instead of bytes, each read within bounds.
//
// Every call has been admitted on its metadata before a byte of its messages is read (door.h). A message is
// parsed only where it will not take too much memory, alone or with the others that are held now; and a
// caller that lets a call wait, for a message or for room to send one, is given up after a time: no caller
// holds a place by doing nothing.
//
// gRPC has a few threads for all callers, and what takes long on them delays every call. So a heavy message, of more
// than a millisecond or so of work, is read, checked and freed on a thread of its own, where callers take turns; a
// sweep, whose check can take long, is checked there.
//
// Thread safety: as gRPC's reactors: reactions may run at the same time as others of the same call, and on
// any thread.
#ifndef INLIER_COORDINATOR_SERVICES_CALL_STREAM_H_
#define INLIER_COORDINATOR_SERVICES_CALL_STREAM_H_

#include <google/protobuf/message.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/services/access.h"
#include "coordinator/services/blocking_pool.h"
#include "coordinator/services/byte_shares.h"
#include "rpc/unpacked_size.h"
#include "rpc/waits.h"

namespace inlier {

// The state that all calls of the server share.
struct CallBounds {
  // Of messages in memory at once. Heavy ones leave some of it to the others.
  static constexpr ByteShares::Limits kMessageBytes{.of_caller = 192 << 20, .of_all = 512 << 20};
  static constexpr std::size_t kLeftByHeavyBytes = 128 << 20;
  // Of heavy messages, as they came, that wait for their turn.
  static constexpr ByteShares::Limits kWaitingBytes{.of_caller = 64 << 20, .of_all = 256 << 20};
  // Of answers that their callers have not read.
  static constexpr ByteShares::Limits kAnswerBytes{.of_caller = 128 << 20, .of_all = 512 << 20};

  CallBounds(Access& access, Duration session_silence) : access(access), sessions(session_silence) {}

  // Ends the calls that have waited too long.
  void Expire(Timestamp now) {
    for (Waits* waits : {&requests, &sessions, &uploads, &downloads, &writes}) waits->Expire(now);
  }

  // Runs `work` on the thread of heavy messages when it is the turn of `caller`; or `refuse`, from Stop on with
  // UNAVAILABLE.
  void RunHeavy(const std::string& caller, std::function<void()> work,
                std::function<void(absl::Status)> refuse) {
    const auto run = [this, work = std::move(work), refuse] {
      if (!stopping) return work();
      refuse(absl::UnavailableError("the coordinator is stopping; call again when it is back"));
    };
    heavy.Run(caller, run, refuse);
  }
  // Those that wait are refused in their turn.
  void Stop() { stopping = true; }

  Access& access;
  Waits requests{std::chrono::seconds(30)};   // For the message of a call that has one.
  Waits sessions;                             // For the next sync.
  Waits uploads{std::chrono::seconds(60)};    // For the next chunk.
  Waits downloads{std::chrono::seconds(60)};  // For room to send the next chunk.
  Waits writes{std::chrono::seconds(60)};     // For room to send any other message.
  ByteShares messages{kMessageBytes, "requests that are being served"};
  ByteShares waiting{kWaitingBytes, "requests that wait for their turn"};
  ByteShares answers{kAnswerBytes, "answers that have not been read"};
  std::atomic<bool> stopping{false};
  BlockingPool heavy{{}, "large requests"};  // The last one: its calls use the others.
};

// A call that was admitted.
struct Arrival {
  grpc::CallbackServerContext& context;
  CallBounds& bounds;
  Admission admission;
};

class CallStream : public grpc::ServerGenericBidiReactor {
 public:
  const Caller& caller() const { return admission_.caller(); }
  grpc::CallbackServerContext& context() { return context_; }
  // OK while its credentials are in force.
  absl::Status StillAdmitted() { return bounds_.access.Recheck(context_, admission_); }

 protected:
  explicit CallStream(Arrival arrival);
  ~CallStream() override;

  // Reads the next message; OnMessage follows once. One at a time.
  template <typename Message>
  void Read(Message& message, Waits& waits) {
    static const UnpackedSize size(*Message::descriptor());
    StartRead(message, size, waits);
  }
  // Sends `message`; OnWritten follows. One at a time.
  void Write(const google::protobuf::Message& message) { Write(message, bounds_.writes); }
  void Write(const google::protobuf::Message& message, Waits& waits);
  // The last one, with the status OK; or, where answers that were not read leave no room for it, that refusal alone.
  void WriteAndFinish(const google::protobuf::Message& message);

  // True: the message is there. False: the caller has closed its side, or is gone. An error: why the call
  // must end.
  virtual void OnMessage(absl::StatusOr<bool> got) = 0;
  virtual void OnWritten(bool) {}
  // The last reaction.
  virtual void OnEnded() {
    LetGoOfMessage();
    delete this;
  }
  // The last message is not used any more. A heavy one is freed elsewhere: to be called before the object is destroyed.
  void LetGoOfMessage();

  CallBounds& bounds() { return bounds_; }
  const char* method() const { return admission_.method(); }

 private:
  struct ReadWait final : Waits::Wait {
    explicit ReadWait(CallStream& call) : call(call) {}
    std::function<void()> GiveUp() override;
    CallStream& call;
  };
  struct WriteWait final : Waits::Wait {
    explicit WriteWait(CallStream& call) : call(call) {}
    std::function<void()> GiveUp() override;
    CallStream& call;
  };

  void StartRead(google::protobuf::Message& message, const UnpackedSize& size, Waits& waits);
  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnDone() final;
  void Got(const absl::Status& status);
  absl::StatusOr<std::optional<std::size_t>> SizeIfLight();
  absl::Status Parse(std::size_t bytes, std::size_t reserved);
  absl::Status ParseHeavy();
  void QueueHeavy();
  void Serialize(const google::protobuf::Message& message);
  void Release() {
    if (holds_.fetch_sub(1) == 1) OnEnded();
  }

  grpc::CallbackServerContext& context_;
  CallBounds& bounds_;
  Admission admission_;
  std::atomic<int> holds_{1};
  // Of the read that is under way.
  ReadWait read_wait_{*this};
  Waits* read_waits_ = nullptr;
  const UnpackedSize* size_ = nullptr;
  google::protobuf::Message* message_ = nullptr;
  grpc::ByteBuffer in_;
  bool heavy_ = false;          // The message.
  std::size_t held_bytes_ = 0;  // Its share of the memory, as one of
  std::string holder_;          // this caller.
  // Of the write.
  WriteWait write_wait_{*this};
  Waits* write_waits_ = nullptr;
  grpc::ByteBuffer out_;
  std::size_t answer_bytes_ = 0;  // Of the last one, the share of
  std::string answer_holder_;     // this caller.
};

// A call with one message and one answer, as its handler sees it.
class UnaryContext {
 public:
  // Answers: with the response if `status` is OK. Once.
  virtual void Reply(const grpc::Status& status) = 0;
  virtual grpc::CallbackServerContext& server_context() = 0;
  virtual const Caller& calling() const = 0;

 protected:
  ~UnaryContext() = default;
};

template <typename Request, typename Response>
class UnaryCall final : public CallStream, public UnaryContext {
 public:
  using Handler = std::function<void(UnaryContext*, const Request*, Response*)>;
  // `handler` outlives it; it is not run for a call whose message does not come or is refused, which
  // `refused` gets.
  UnaryCall(Arrival arrival, const Handler& handler, std::function<void(const grpc::Status&)> refused)
      : CallStream(std::move(arrival)), handler_(handler), refused_(std::move(refused)) {
    Read(request_, bounds().requests);
  }

  void Reply(const grpc::Status& status) override {
    if (!status.ok()) return Finish(status);
    Response answer;  // Not kept beside its bytes, for which the caller may let wait.
    answer.Swap(&response_);
    WriteAndFinish(answer);
  }
  grpc::CallbackServerContext& server_context() override { return context(); }
  const Caller& calling() const override { return caller(); }

 private:
  void OnMessage(absl::StatusOr<bool> got) override {
    if (got.ok() && *got) return handler_(this, &request_, &response_);
    const grpc::Status status = got.ok()
                                    ? grpc::Status(grpc::StatusCode::CANCELLED, "the call has no message")
                                    : grpc::Status(static_cast<grpc::StatusCode>(got.status().code()),
                                                   std::string(got.status().message()));
    refused_(status);
    Finish(status);
  }

  const Handler& handler_;
  const std::function<void(const grpc::Status&)> refused_;
  Request request_;
  Response response_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_CALL_STREAM_H_
