#include "coordinator/services/calls.h"

#include <array>

namespace inlier {
namespace {

std::string CodeName(grpc::StatusCode code) {
  static constexpr std::array<const char*, 17> kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return code >= 0 && static_cast<std::size_t>(code) < kNames.size() ? kNames[code] : "UNKNOWN";
}

}  // namespace

Calls::Calls(CoordinatorLoop& loop, CoordinatorMetrics& metrics, CallBounds& bounds)
    : loop_(loop), metrics_(metrics), bounds_(bounds) {
  access().OnRefused([this](const Caller& caller, const char* method, const absl::Status& status) {
    Effects effects;
    audit_.Add(Audit::RowOf(caller, method, nullptr), status, CoordinatorLoop::Now(),
               loop_.StoreHealth().status.ok(), effects);
    if (effects.changes.empty()) return;
    loop_.Post([this, effects = std::move(effects)]() mutable { loop_.Commit(std::move(effects)); });
  });
}

void Calls::AddNotice(grpc::CallbackServerContext& context) {
  if (const absl::Status waits = StoreWaits(loop_.StoreHealth().status); !waits.ok())
    context.AddTrailingMetadata(kNoticeHeader, std::string(waits.message()));
}

void Calls::Observe(const char* method, const grpc::Status& status, Timestamp started) {
  metrics_.ObserveRpc(method, CodeName(status.error_code()), MonotonicNow() - started);
}

}  // namespace inlier
