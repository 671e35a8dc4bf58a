#include "coordinator/services/calls.h"

namespace inlier {

Calls::Calls(CoordinatorLoop& loop, CallBounds& bounds) : loop_(loop), bounds_(bounds) {
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

}  // namespace inlier
