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

void Calls::Observe(const char* method, const grpc::Status& status, Timestamp started) {
  metrics_.ObserveRpc(method, CodeName(status.error_code()), MonotonicNow() - started);
}

}  // namespace inlier
