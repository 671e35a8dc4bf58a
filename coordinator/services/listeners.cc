#include "coordinator/services/listeners.h"

#include <utility>

namespace inlier {

bool Listeners::Remove(const std::string& incarnation, const Listener* ended) {
  const auto at = streams_.find(incarnation);
  if (at == streams_.end()) return false;
  const std::shared_ptr<Listener> listener = at->second.lock();
  if (listener != nullptr && listener.get() != ended) return false;
  streams_.erase(at);
  return true;
}

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
