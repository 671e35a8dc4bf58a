#include "coordinator/services/call_stream.h"

#include <grpc/grpc.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace inlier {
namespace {

// A message of fewer bytes takes little memory: at most so much for each byte.
constexpr std::size_t kSmallMessage = 1024;
constexpr std::size_t kUnpackedPerByte = 160;

}  // namespace

CallStream::CallStream(Arrival arrival)
    : context_(arrival.context), bounds_(arrival.bounds), admission_(std::move(arrival.admission)) {}

CallStream::~CallStream() { LetGo(); }

void CallStream::LetGo() { bounds_.unpacked_bytes -= std::exchange(unpacked_bytes_, 0); }

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
  LetGo();
  message_ = &message;
  size_ = &size;
  read_waits_ = &waits;
  waits.Begin(read_wait_, MonotonicNow());
  grpc::ServerGenericBidiReactor::StartRead(&in_);
}

void CallStream::OnReadDone(bool ok) {
  if (!read_waits_->End(read_wait_)) return;  // Given up: OnMessage has been called.
  if (!ok) return OnMessage(false);
  absl::Status status = StillAdmitted();
  if (status.ok()) status = Parse();
  in_.Clear();
  OnMessage(status.ok() ? absl::StatusOr<bool>(true) : absl::StatusOr<bool>(std::move(status)));
}

absl::Status CallStream::Parse() {
  std::size_t bytes = in_.Length() * kUnpackedPerByte;
  if (in_.Length() > kSmallMessage) {
    grpc::ProtoBufferReader walked(&in_);
    ASSIGN_OR_RETURN(bytes, size_->Of(walked));
  }
  unpacked_bytes_ = bytes;
  if ((bounds_.unpacked_bytes += bytes) > CallBounds::kUnpackedBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the requests that are being served take ", CallBounds::kUnpackedBytesMax >> 20,
                     " MiB of memory already, the maximum; try again in a moment"));
  }
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
  write_waits_ = &bounds_.writes;
  write_waits_->Begin(write_wait_, MonotonicNow());
  StartWriteAndFinish(&out_, grpc::WriteOptions(), grpc::Status::OK);
}

void CallStream::OnDone() {
  if (write_waits_ != nullptr) write_waits_->End(write_wait_);  // Of WriteAndFinish.
  Release();
}

}  // namespace inlier
