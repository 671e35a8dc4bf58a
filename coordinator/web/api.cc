#include "coordinator/web/api.h"

#include <google/protobuf/util/json_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/status.h"
#include "base/utf8.h"
#include "coordinator/web/api_gate.h"
#include "inlier/v1/sweep_service.pb.h"
#include "nlohmann/json.hpp"
#include "rpc/rpc.h"

namespace inlier {
namespace {

using google::protobuf::MethodDescriptor;

// The longest calls are users' SQL and tables, which have shorter limits.
constexpr std::chrono::seconds kCallTime{120};
constexpr std::size_t kTokenBytesMax = 4096;
constexpr std::size_t kCompressedBytesMin = 16 << 10;

std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor* type) {
  auto* const factory = google::protobuf::MessageFactory::generated_factory();
  return std::unique_ptr<google::protobuf::Message>(factory->GetPrototype(type)->New());
}

absl::StatusOr<std::string> Json(const google::protobuf::Descriptor* type, grpc::ByteBuffer& bytes) {
  const auto message = NewMessage(type);
  grpc::ProtoBufferReader reader(&bytes);
  if (!message->ParseFromZeroCopyStream(&reader)) return absl::InternalError("an answer could not be read");
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(*message, &json, options).ok())
    return absl::InternalError("an answer has a text that is not UTF-8");
  return json;
}

// Reads JSON. Errors are the parser's, on one line.
absl::StatusOr<grpc::ByteBuffer> ReadRequest(const google::protobuf::Descriptor* type,
                                             const std::string& body) {
  const auto refused = [type](const auto&... reason) {
    return absl::InvalidArgumentError(absl::StrCat("the request is not a ", type->name(), ": ", reason...));
  };
  if (NestingDepth(body) > Api::kDepthMax) return refused("it is nested deeper than ", Api::kDepthMax);
  const auto message = NewMessage(type);
  const auto parsed = google::protobuf::util::JsonStringToMessage(body.empty() ? "{}" : body, message.get());
  if (!parsed.ok()) {
    std::string reason(parsed.message().data(), parsed.message().size());
    std::ranges::replace(reason, '\n', ' ');
    reason.resize(ValidUtf8Prefix(reason));
    return refused(reason);
  }
  const grpc::Slice slice(message->SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// True for a text that gRPC sends as metadata; another would end the program.
bool IsHeaderValue(const std::string& text) {
  return text.size() <= kTokenBytesMax &&
         std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Compact and pure ASCII, as a header must be.
std::string JsonText(const nlohmann::json& value) {
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string StatusJson(const absl::Status& status) {
  return JsonText(
      {{"code", absl::StatusCodeToString(status.code())}, {"message", std::string(status.message())}});
}

int HttpStatus(absl::StatusCode code) {
  using enum absl::StatusCode;
  static const std::map<absl::StatusCode, int> statuses = {{kOk, 200},
                                                           {kInvalidArgument, 400},
                                                           {kFailedPrecondition, 400},
                                                           {kOutOfRange, 400},
                                                           {kUnauthenticated, 401},
                                                           {kPermissionDenied, 403},
                                                           {kNotFound, 404},
                                                           {kAlreadyExists, 409},
                                                           {kAborted, 409},
                                                           {kResourceExhausted, 429},
                                                           {kUnimplemented, 501},
                                                           {kUnavailable, 503},
                                                           {kDeadlineExceeded, 504}};
  const auto at = statuses.find(code);
  return at == statuses.end() ? 500 : at->second;
}

// The client's address without its port.
std::string AddressOf(const HttpRequest& request) { return request.peer.substr(0, request.peer.rfind(':')); }

const MethodDescriptor* FindMethod(const HttpRequest& request) {
  const auto* service = v1::SubmitSweepRequest::descriptor()->file()->FindServiceByName("SweepService");
  return service->FindMethodByName(request.path.substr(sizeof(Api::kPrefix) - 1));
}

}  // namespace

HttpResponse ErrorResponse(const absl::Status& status) {
  return {
      .status = HttpStatus(status.code()), .content_type = "application/json", .body = StatusJson(status)};
}

void Compress(const HttpRequest& request, HttpResponse& response) {
  if (response.body.size() < kCompressedBytesMin || !absl::StrContains(request.accept_encoding, "gzip"))
    return;
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) return;
  std::string out(deflateBound(&stream, response.body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(response.body.data());
  stream.avail_in = static_cast<uInt>(response.body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!whole) return;
  response.body = std::move(out);
  response.headers.emplace_back("Content-Encoding", "gzip");
}

// A call and its answer, kept alive by gRPC's callback and the pool.
class ApiUnaryCall : public std::enable_shared_from_this<ApiUnaryCall> {
 public:
  ApiUnaryCall(Api& api, std::shared_ptr<HttpCall> http, const MethodDescriptor* method,
               grpc::ByteBuffer request)
      : open_(api), api_(api), http_(std::move(http)), method_(method), request_(std::move(request)) {}

  grpc::ClientContext& context() { return context_; }

  void Start(const std::string& path) {
    http_->WhenGone([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->gone_ = true;
      self->context_.TryCancel();
    });
    grpc::GenericStub(api_.channel_)
        .UnaryCall(&context_, path, grpc::StubOptions(), &request_, &response_,
                   [self = shared_from_this()](const grpc::Status& status) {
                     self->Answered(FromGrpcStatus(status));
                   });
  }

 private:
  void Answered(const absl::Status& status) {
    if (!status.ok()) return Finish(ErrorResponse(status));
    auto held = api_.bytes_.Hold(caller_, response_.Length());
    if (!held.ok()) return Finish(ErrorResponse(held.status()));
    api_.Run(http_, [self = shared_from_this(), held = *std::move(held)] { self->Answer(); });
  }
  void Answer() {
    if (gone_) return;
    absl::StatusOr<std::string> json = Json(method_->output_type(), response_);
    response_.Clear();
    if (!json.ok()) return Finish(ErrorResponse(json.status()));
    HttpResponse response{.content_type = "application/json", .body = *std::move(json)};
    const auto& trailing = context_.GetServerTrailingMetadata();
    if (const auto notice = trailing.find(kNoticeHeader); notice != trailing.end()) {
      const std::string text(notice->second.begin(), notice->second.end());
      response.headers.emplace_back("Inlier-Notice", JsonText(text));
    }
    Compress(http_->request(), response);
    auto held = api_.bytes_.Hold(caller_, response.body.size());
    if (!held.ok()) return Finish(ErrorResponse(held.status()));
    response.held = *std::move(held);
    Finish(std::move(response));
  }
  void Finish(HttpResponse response) {
    response.headers.emplace_back("Cache-Control", "no-store");
    http_->Reply(std::move(response));
  }

  struct Open {
    explicit Open(Api& api) : api(api) { api.Began(); }
    ~Open() { api.Ended(); }
    Api& api;
  };

  const Open open_;  // The first: the API may be gone when it has ended.
  Api& api_;
  const std::shared_ptr<HttpCall> http_;
  const std::string caller_ = AddressOf(http_->request());
  const MethodDescriptor* const method_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_, response_;
  std::atomic<bool> gone_{false};
};

// A call whose answers go to the client one by one; it keeps itself alive until OnDone. Each answer is held
// by gRPC (a read), then by the pool (JSON is made), then by HTTP (it is sent). While gRPC does not hold it,
// AddHold keeps the call.
class ApiStreamCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                            public std::enable_shared_from_this<ApiStreamCall> {
 public:
  ApiStreamCall(Api& api, std::shared_ptr<HttpCall> http, const MethodDescriptor* method,
                grpc::ByteBuffer request)
      : api_(api), http_(std::move(http)), method_(method), request_(std::move(request)) {}

  grpc::ClientContext& context() { return context_; }

  void Start(const std::string& path) {
    self_ = shared_from_this();
    grpc::GenericStub(api_.channel_).PrepareBidiStreamingCall(&context_, path, grpc::StubOptions(), this);
    AddHold();
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&message_);
    StartCall();
  }

 private:
  enum class Holder { kGrpc, kPool, kHttp, kNone };

  void OnReadDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      if (!ok || gone_) return LetGo();
      holder_ = Holder::kPool;
    }
    api_.pool_.Run(
        AddressOf(http_->request()), [self = self_] { self->SendUpdate(); },
        [self = self_](const absl::Status&) { self->Stop(); });
  }

  void SendUpdate() {
    const absl::StatusOr<std::string> json = Json(method_->output_type(), message_);
    if (!json.ok()) return Stop();
    if (!std::exchange(begun_, true)) Begin();
    {
      const std::lock_guard lock(mutex_);
      if (gone_) return LetGo();
      holder_ = Holder::kHttp;
    }
    http_->Send(absl::StrCat("event: update\ndata: ", *json, "\n\n"), [self = self_] { self->ReadNext(); });
  }
  // Ends the call when an answer could not be made.
  void Stop() {
    context_.TryCancel();
    const std::lock_guard lock(mutex_);
    LetGo();
  }
  void LetGo() {  // REQUIRES: the lock.
    holder_ = Holder::kNone;
    RemoveHold();
  }
  void ReadNext() {
    const std::lock_guard lock(mutex_);
    if (holder_ != Holder::kHttp) return;
    holder_ = Holder::kGrpc;
    message_.Clear();
    StartRead(&message_);
  }
  void Gone() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    context_.TryCancel();
    if (holder_ == Holder::kHttp) LetGo();
  }
  void Begin() {
    http_->Begin({.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}},
                 [self = self_] { self->Gone(); });
  }

  void OnDone(const grpc::Status& status) override {
    if (!begun_ && !status.ok()) {
      http_->Reply(ErrorResponse(FromGrpcStatus(status)));
    } else {
      if (!begun_) Begin();
      http_->Send(absl::StrCat("event: end\ndata: ", StatusJson(FromGrpcStatus(status)), "\n\n"), nullptr);
      http_->End();
    }
    http_.reset();
    Api& api = api_;
    {
      const std::lock_guard lock(api.mutex_);
      --api.streams_;
    }
    self_.reset();  // May delete it.
    api.Ended();
  }

  Api& api_;
  std::shared_ptr<HttpCall> http_;
  const MethodDescriptor* const method_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_, message_;
  std::shared_ptr<ApiStreamCall> self_;
  bool begun_ = false;
  std::mutex mutex_;
  Holder holder_ = Holder::kGrpc;
  bool gone_ = false;
};

void Api::UseServer(grpc::Server& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  channel_ = server.InProcessChannel(arguments);
}

std::optional<HttpResponse> Api::Refusal(const HttpRequest& head) {
  const absl::Status status = Check(head);
  return status.ok() ? std::nullopt : std::optional(ErrorResponse(status));
}

absl::Status Api::Check(const HttpRequest& head) {
  RETURN_IF_ERROR(CheckTransport(head, config_));
  RETURN_IF_ERROR(CheckOrigin(head));
  if (!IsHeaderValue(head.authorization))
    return absl::UnauthenticatedError("the header Authorization must be: Bearer TOKEN");
  const MethodDescriptor* method = FindMethod(head);
  if (method == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("there is no method ", head.path.substr(sizeof(kPrefix) - 1, 100), " here"));
  }
  return access_.CheckHttp(head.authorization, head.peer, method->name().c_str());
}

void Api::Run(const std::shared_ptr<HttpCall>& call, std::function<void()> work) {
  const auto refuse = [call](const absl::Status& refused) { call->Reply(ErrorResponse(refused)); };
  const auto run = [this, refuse, work = std::move(work)] {
    stopping_ ? refuse(absl::UnavailableError("the coordinator is stopping; call again when it is back"))
              : work();
  };
  pool_.Run(AddressOf(call->request()), run, refuse);
}

void Api::Handle(const std::shared_ptr<HttpCall>& call) {
  Run(call, [this, call] {
    const absl::Status started = Start(call);
    if (!started.ok()) call->Reply(ErrorResponse(started));
  });
}

absl::Status Api::Start(const std::shared_ptr<HttpCall>& call) {
  const HttpRequest& request = call->request();
  const MethodDescriptor* method = FindMethod(request);
  ASSIGN_OR_RETURN(grpc::ByteBuffer message, ReadRequest(method->input_type(), request.body));
  const auto prepare = [&request](grpc::ClientContext& context) {
    if (!request.authorization.empty()) context.AddMetadata(kTokenHeader, request.authorization);
    context.AddMetadata(kHttpPeerHeader, request.peer);
  };
  const std::string path = absl::StrCat("/", method->service()->full_name(), "/", method->name());
  if (!method->server_streaming()) {
    const auto unary = std::make_shared<ApiUnaryCall>(*this, call, method, std::move(message));
    prepare(unary->context());
    unary->context().set_deadline(std::chrono::system_clock::now() + kCallTime);
    unary->Start(path);
    return absl::OkStatus();
  }
  {
    const std::lock_guard lock(mutex_);
    if (streams_ >= kStreamsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat(kStreamsMax, " pages watch a sweep, the most at once; close some of them"));
    }
    ++streams_;
  }
  Began();
  const auto stream = std::make_shared<ApiStreamCall>(*this, call, method, std::move(message));
  prepare(stream->context());
  stream->Start(path);
  return absl::OkStatus();
}

void Api::Began() {
  const std::lock_guard lock(mutex_);
  ++open_;
}

void Api::Ended() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0) ended_.notify_all();
}

void Api::Join() {
  stopping_ = true;
  pool_.Join();
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return open_ == 0; });
}

}  // namespace inlier
