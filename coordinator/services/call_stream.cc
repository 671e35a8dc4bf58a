#include "coordinator/services/call_stream.h"

#include <grpc/grpc.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

// A message of fewer bytes takes little memory: at most so much for each byte.
constexpr std::size_t kSmallMessage = 1024;
constexpr std::size_t kUnpackedPerByte = 160;
// One of more work is heavy (UnpackedSize::OfUpTo): about a third of a millisecond to read, and as much to check.
constexpr std::size_t kLightWork = 1024;
// A message that took more is freed as soon as it is not used, in place of being kept for the next one.
constexpr std::size_t kKeptBytes = 64 << 10;

}  // namespace

CallStream::CallStream(Arrival arrival)
    : context_(arrival.context), bounds_(arrival.bounds), admission_(std::move(arrival.admission)) {}

CallStream::~CallStream() { bounds_.messages.LetGo(holder_, held_bytes_); }

void CallStream::LetGoOfMessage() {
  const std::size_t bytes = std::exchange(held_bytes_, 0);
  const bool heavy = std::exchange(heavy_, false);
  if (message_ == nullptr || bytes <= kKeptBytes) return bounds_.messages.LetGo(holder_, bytes);
  std::shared_ptr<google::protobuf::Message> old(message_->New());
  message_->GetReflection()->Swap(message_, old.get());
  auto free = [&bounds = bounds_, old = std::move(old), holder = holder_, bytes]() mutable {
    old.reset();
    bounds.messages.LetGo(holder, bytes);
  };
  if (!heavy) return free();
  bounds_.heavy.RunFirst(holder_, std::move(free));
}

// The caller keeps silent: the reason goes to it with the end of the call.
std::function<void()> CallStream::ReadWait::GiveUp() {
  ++call.holds_;
  return [this] {
    CallStream& held = call;
    held.OnMessage(absl::DeadlineExceededError(
        absl::StrCat("nothing has come from the caller for too long: a call waits ",
                     FormatDuration(held.read_waits_->longest()),
                     " at most, and less when others need its place; call again")));
    held.Release();
  };
}

// The caller does not read, so no reason can reach it: the stream is reset, with a code that allows another
// try.
std::function<void()> CallStream::WriteWait::GiveUp() {
  grpc_call* const stuck = call.context_.c_call();
  grpc_call_ref(stuck);
  return [stuck] {
    grpc_call_cancel_with_status(stuck, GRPC_STATUS_UNAVAILABLE, "the caller does not read its messages",
                                 nullptr);
    grpc_call_unref(stuck);
  };
}

void CallStream::StartRead(google::protobuf::Message& message, const UnpackedSize& size, Waits& waits) {
  LetGoOfMessage();
  message_ = &message;
  size_ = &size;
  read_waits_ = &waits;
  waits.Begin(read_wait_, MonotonicNow());
  grpc::ServerGenericBidiReactor::StartRead(&in_);
}

void CallStream::OnReadDone(bool ok) {
  if (!read_waits_->End(read_wait_)) return;  // Given up: OnMessage has been called.
  if (!ok) return OnMessage(false);
  if (const absl::Status admitted = StillAdmitted(); !admitted.ok()) return Got(admitted);
  holder_ = caller().name;
  const absl::StatusOr<std::optional<std::size_t>> light = SizeIfLight();
  if (!light.ok()) return Got(light.status());
  heavy_ = !light->has_value();
  if (!heavy_) return Got(Parse(**light, 0));
  QueueHeavy();
}

void CallStream::Got(const absl::Status& status) {
  in_.Clear();
  OnMessage(status.ok() ? absl::StatusOr<bool>(true) : absl::StatusOr<bool>(status));
}

// None: it is heavy.
absl::StatusOr<std::optional<std::size_t>> CallStream::SizeIfLight() {
  if (in_.Length() <= kSmallMessage) return in_.Length() * kUnpackedPerByte;
  grpc::ProtoBufferReader walked(&in_);
  return size_->OfUpTo(walked, kLightWork);
}

void CallStream::QueueHeavy() {
  if (in_.Length() > kUnpackedBytesMax) return Got(ParseHeavy());  // Refused before long.
  const std::size_t waiting = in_.Length();
  if (const absl::Status room = bounds_.waiting.Take(holder_, waiting); !room.ok()) return Got(room);
  ++holds_;
  const auto take = [this, waiting](absl::Status status) {
    if (status.ok()) status = ParseHeavy();
    bounds_.waiting.LetGo(holder_, waiting);
    Got(status);
    Release();
  };
  bounds_.RunHeavy(
      holder_, [take] { take(absl::OkStatus()); }, take);
}

absl::Status CallStream::ParseHeavy() {
  grpc::ProtoBufferReader walked(&in_);
  ASSIGN_OR_RETURN(const std::size_t bytes, size_->Of(walked));
  return Parse(bytes, CallBounds::kLeftByHeavyBytes);
}

absl::Status CallStream::Parse(std::size_t bytes, std::size_t reserved) {
  RETURN_IF_ERROR(bounds_.messages.Take(holder_, bytes, reserved));
  held_bytes_ = bytes;
  grpc::ProtoBufferReader reader(&in_);
  if (message_->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(method(), ": the message is no ", message_->GetTypeName(),
                                                 "; install the same version of inlier on both sides"));
}

void CallStream::Serialize(const google::protobuf::Message& message) {
  bool own = false;
  out_.Clear();
  const grpc::Status status =
      grpc::SerializationTraits<google::protobuf::Message>::Serialize(message, &out_, &own);
  INLIER_CHECK(status.ok());
}

void CallStream::Write(const google::protobuf::Message& message, Waits& waits) {
  Serialize(message);
  write_waits_ = &waits;
  waits.Begin(write_wait_, MonotonicNow());
  StartWrite(&out_);
}

void CallStream::OnWriteDone(bool ok) {
  write_waits_->End(write_wait_);
  OnWritten(ok);
}

void CallStream::WriteAndFinish(const google::protobuf::Message& message) {
  Serialize(message);
  if (const absl::Status room = bounds_.answers.Take(caller().name, out_.Length()); !room.ok()) {
    out_.Clear();
    return Finish(ToGrpcStatus(room));
  }
  answer_holder_ = caller().name;
  answer_bytes_ = out_.Length();
  write_waits_ = &bounds_.writes;
  write_waits_->Begin(write_wait_, MonotonicNow());
  StartWriteAndFinish(&out_, grpc::WriteOptions(), grpc::Status::OK);
}

void CallStream::OnDone() {
  if (write_waits_ != nullptr) write_waits_->End(write_wait_);  // Of WriteAndFinish.
  bounds_.answers.LetGo(answer_holder_, answer_bytes_);
  Release();
}

}  // namespace inlier
