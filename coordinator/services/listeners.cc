#include "coordinator/services/listeners.h"

#include <utility>

namespace inlier {

void Listeners::Place::Push(v1::CoordinatorSync push) const {
  if (const std::shared_ptr<Listener> stream = listener.lock()) stream->Push(heard, std::move(push));
}

bool Listeners::Remove(const std::string& incarnation, const Listener* ended) {
  const auto at = streams_.find(incarnation);
  if (at == streams_.end()) return false;
  const std::shared_ptr<Listener> listener = at->second.listener.lock();
  if (listener != nullptr && listener.get() != ended) return false;
  streams_.erase(at);
  return true;
}

const Listeners::Place* Listeners::Find(const std::string& incarnation) const {
  const auto at = streams_.find(incarnation);
  return at == streams_.end() ? nullptr : &at->second;
}

}  // namespace inlier
