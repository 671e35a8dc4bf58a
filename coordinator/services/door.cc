#include "coordinator/services/door.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "rpc/reflection.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

namespace health = grpc::health::v1;
namespace reflection = grpc::reflection::v1alpha;

constexpr char kHealth[] = "grpc.health.v1.Health";
constexpr char kReflection[] = "grpc.reflection.v1alpha.ServerReflection";

// A call that ends with its refusal.
class RefusedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const absl::Status& reason) { Finish(ToGrpcStatus(reason)); }
  void OnDone() override { delete this; }
};

void CheckHealth(UnaryContext* context, const health::HealthCheckRequest* request,
                 health::HealthCheckResponse* response) {
  if (!request->service().empty())
    return context->Reply({grpc::StatusCode::NOT_FOUND, "service: only \"\", the whole server, is known"});
  response->set_status(health::HealthCheckResponse::SERVING);
  context->Reply(grpc::Status::OK);
}

// Reads a question, answers it, and reads the next.
class ReflectionCall final : public CallStream {
 public:
  ReflectionCall(AdmittedCall call, const std::vector<std::string>& services)
      : CallStream(std::move(call)), services_(services) {
    Read(request_);
  }

 private:
  void OnMessage(absl::StatusOr<bool> got) override {
    if (!got.ok() || !*got) return Finish(ToGrpcStatus(got.status()));
    Write(Reflect(request_, services_));
  }
  void OnWritten(bool ok) override {
    if (!ok) return Finish({grpc::StatusCode::CANCELLED, "the caller has gone"});
    Read(request_);
  }

  const std::vector<std::string>& services_;
  reflection::ServerReflectionRequest request_;
};

}  // namespace

Door::Door(Calls& calls) : calls_(calls) {
  Add<health::HealthCheckRequest, health::HealthCheckResponse>(kHealth, "Check", CheckHealth);
  AddStream(kReflection, "ServerReflectionInfo",
            [this](AdmittedCall call) { return new ReflectionCall(std::move(call), services_); });
  for (auto& [path, method] : methods_) method.open = true;
}

void Door::AddStream(const std::string& service, const std::string& method, Enter enter) {
  if (std::ranges::find(services_, service) == services_.end()) services_.push_back(service);
  Method added{.name = method, .enter = std::move(enter)};
  INLIER_CHECK(methods_.emplace(absl::StrCat("/", service, "/", method), std::move(added)).second);
}

grpc::ServerGenericBidiReactor* Door::CreateReactor(grpc::GenericCallbackServerContext* context) {
  const auto found = methods_.find(context->method());
  if (found == methods_.end()) {
    return new RefusedCall(absl::UnimplementedError(
        absl::StrCat("there is no method ", context->method().substr(0, 200), " here")));
  }
  const Method& method = found->second;
  const char* const name = method.name.c_str();
  const Timestamp started = MonotonicNow();
  Access& access = calls_.access();
  auto admitted = method.open ? access.AdmitAnyone(*context, name) : access.Admit(*context, name);
  if (admitted.ok()) return method.enter(AdmittedCall{*context, calls_.bounds(), *std::move(admitted)});
  if (!method.open) calls_.bounds().Observe(name, ToGrpcStatus(admitted.status()), started);
  return new RefusedCall(admitted.status());
}

}  // namespace inlier
