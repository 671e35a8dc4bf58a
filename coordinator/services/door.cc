#include "coordinator/services/door.h"

#include <algorithm>
#include <utility>

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

// A question is read, answered, and the next one is read.
class ReflectionCall final : public CallStream {
 public:
  ReflectionCall(Arrival arrival, const std::vector<std::string>& services)
      : CallStream(std::move(arrival)), services_(services) {
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
            [this](Arrival arrival) { return new ReflectionCall(std::move(arrival), services_); });
  for (auto& [path, method] : methods_) method.open = true;
}

void Door::AddStream(const std::string& service, const std::string& method, Enter enter) {
  if (std::find(services_.begin(), services_.end(), service) == services_.end()) services_.push_back(service);
  const bool added =
      methods_
          .emplace(absl::StrCat("/", service, "/", method), Method{.name = method, .enter = std::move(enter)})
          .second;
  INLIER_CHECK(added);
}

grpc::ServerGenericBidiReactor* Door::CreateReactor(grpc::GenericCallbackServerContext* context) {
  const auto found = methods_.find(context->method());
  if (found == methods_.end()) {
    return new RefusedCall(absl::UnimplementedError(
        absl::StrCat("there is no method ", context->method().substr(0, 200), " here")));
  }
  const Method& method = found->second;
  const Timestamp started = MonotonicNow();
  Access& access = calls_.access();
  absl::StatusOr<Admission> admitted = method.open ? access.AdmitAnyone(*context, method.name.c_str())
                                                   : access.Admit(*context, method.name.c_str());
  if (admitted.ok()) return method.enter(Arrival{*context, calls_.bounds(), *std::move(admitted)});
  if (!method.open) calls_.Observe(method.name.c_str(), ToGrpcStatus(admitted.status()), started);
  return new RefusedCall(admitted.status());
}

}  // namespace inlier
