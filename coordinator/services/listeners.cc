#include "coordinator/services/listeners.h"

#include <utility>

namespace inlier {

void Listeners::Push(const std::string& incarnation, v1::CoordinatorSync push) {
  const auto at = streams_.find(incarnation);
  if (at == streams_.end()) return;
  if (const std::shared_ptr<Listener> listener = at->second.lock()) {
    listener->Push(std::move(push));
  } else {
    streams_.erase(at);
  }
}

}  // namespace inlier
