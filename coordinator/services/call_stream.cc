#include "coordinator/services/call_stream.h"

#include <grpc/grpc.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "rpc/unpacked_size.h"

namespace inlier {
namespace {

constexpr char kSilent[] =
    "nothing has come from the caller for too long, or its place was needed for one that sends; call again";

void Pack(const google::protobuf::Message& message, grpc::ByteBuffer& bytes) {
  bool own = false;
  bytes.Clear();
  INLIER_CHECK(grpc::SerializationTraits<google::protobuf::Message>::Serialize(message, &bytes, &own).ok());
}

}  // namespace

void CallBounds::Expire(Timestamp now) {
  std::vector<std::function<void()>> ends;
  {
    const std::lock_guard lock(mutex_);
    for (CallStream* call : open_) {
      if (call->IsSilent(now)) ends.push_back(call->TimeOut());
    }
  }
  for (const auto& end : ends) end();
}

bool CallBounds::EndLongestSilence(const char* method, Timestamp now, Duration least) {
  std::function<void()> end;
  {
    const std::lock_guard lock(mutex_);
    CallStream* longest = nullptr;
    for (CallStream* call : open_) {
      if (std::string_view(call->method()) != method || call->silent_since() > now - least) continue;
      if (longest == nullptr || call->silent_since() < longest->silent_since()) longest = call;
    }
    if (longest == nullptr) return false;
    end = longest->TimeOut();
  }
  end();
  return true;
}

void CallBounds::RunHeavy(const std::string& caller, std::function<void()> work,
                          std::function<void(absl::Status)> refuse) {
  const auto run = [this, work = std::move(work), refuse] {
    if (!stopping_) return work();
    refuse(absl::UnavailableError("the coordinator is stopping; call again when it is back"));
  };
  heavy_.Run(caller, run, refuse);
}

void CallBounds::Observe(const char* method, const grpc::Status& status, Timestamp started) {
  const auto code = static_cast<absl::StatusCode>(status.error_code());  // The same numbers.
  const std::string name = absl::StatusCodeToString(code);
  metrics_.ObserveRpc(method, name.empty() ? "UNKNOWN" : name, MonotonicNow() - started);
}

CallStream::CallStream(AdmittedCall call, Duration silence)
    : context_(call.context), bounds_(call.bounds), admission_(std::move(call.admission)), silence_(silence) {
  const std::lock_guard lock(bounds_.mutex_);
  bounds_.open_.insert(this);
}

// A caller that does not read gets a code that allows another try.
std::function<void()> CallStream::TimeOut() {
  reads_since_ = kNever;
  const bool reads = writes_since_.exchange(kNever) == kNever;
  timed_out_ = true;
  grpc_call* const call = context_.c_call();
  grpc_call_ref(call);
  return [call, reads] {
    grpc_call_cancel_with_status(call, reads ? GRPC_STATUS_DEADLINE_EXCEEDED : GRPC_STATUS_UNAVAILABLE,
                                 reads ? kSilent : "the caller does not read its messages", nullptr);
    grpc_call_unref(call);
  };
}

void CallStream::Read(google::protobuf::Message& message, std::size_t light) {
  // Clear() would keep memory that is no longer counted.
  message.GetReflection()->Swap(&message, std::unique_ptr<google::protobuf::Message>(message.New()).get());
  held_ = nullptr;
  message_ = &message;
  light_ = light;
  reads_since_ = MonotonicNow();
  StartRead(&in_);
}

void CallStream::OnReadDone(bool ok) {
  reads_since_ = kNever;
  if (!ok) {
    if (timed_out_) return OnMessage(absl::DeadlineExceededError(kSilent));
    return OnMessage(false);
  }
  if (const absl::Status admitted = StillAdmitted(); !admitted.ok()) return Got(admitted);
  // A message that needs little more memory than its bytes has few parts.
  if (in_.Length() <= light_) {
    const absl::Status light = Parse(in_.Length() + kLightBytes);
    if (!absl::IsInvalidArgument(light)) return Got(light);
  }
  auto waits = bounds_.bytes.Hold(caller().name, in_.Length());
  if (!waits.ok()) return Got(waits.status());
  ++holds_;
  const auto take = [this, waits = *std::move(waits)](absl::Status status) {
    Got(status.ok() ? Parse(kUnpackedBytesMax) : status);
    Release();
  };
  bounds_.RunHeavy(
      caller().name, [take] { take(absl::OkStatus()); }, take);
}

void CallStream::Got(const absl::Status& status) {
  in_.Clear();
  OnMessage(status.ok() ? absl::StatusOr<bool>(true) : absl::StatusOr<bool>(status));
}

absl::Status CallStream::Parse(std::size_t most) {
  grpc::ProtoBufferReader walked(&in_);
  ASSIGN_OR_RETURN(const std::size_t bytes, UnpackedSize(*message_->GetDescriptor(), walked, most));
  ASSIGN_OR_RETURN(held_, bounds_.bytes.Hold(caller().name, bytes));
  grpc::ProtoBufferReader reader(&in_);
  if (message_->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(method(), ": the message is not a ", message_->GetTypeName(),
                                                 "; install the same version of inlier on both sides"));
}

void CallStream::Write(const google::protobuf::Message& message) {
  Pack(message, out_);
  writes_since_ = MonotonicNow();
  StartWrite(&out_);
}

void CallStream::OnWriteDone(bool ok) {
  writes_since_ = kNever;
  OnWritten(ok);
}

void CallStream::WriteAndFinish(const google::protobuf::Message& message) {
  Pack(message, out_);
  auto unread = bounds_.bytes.Hold(caller().name, out_.Length());
  if (!unread.ok()) {
    out_.Clear();
    return Finish(ToGrpcStatus(unread.status()));
  }
  held_answer_ = *std::move(unread);
  writes_since_ = MonotonicNow();
  StartWriteAndFinish(&out_, grpc::WriteOptions(), grpc::Status::OK);
}

void CallStream::OnDone() {
  {
    const std::lock_guard lock(bounds_.mutex_);
    bounds_.open_.erase(this);
  }
  held_answer_ = nullptr;
  Release();
}

}  // namespace inlier
