// The open streams of workers whose syncs are all answered: work can be pushed to them.
//
// Thread safety: Listener: any thread. Listeners: none; lives on the coordinator's thread.
#ifndef INLIER_COORDINATOR_SERVICES_LISTENERS_H_
#define INLIER_COORDINATOR_SERVICES_LISTENERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "inlier/v1/worker_service.pb.h"

namespace inlier {

// A stream to one worker.
class Listener {
 public:
  virtual ~Listener() = default;
  // Sends `push` unless the stream has ended or received a sync after number `heard`, whose answer contains the
  // same or more. Of several pushes that wait for a write only the last one is sent.
  virtual void Push(std::uint64_t heard, v1::CoordinatorSync push) = 0;
};

class Listeners {
 public:
  // A stream, and the sync after which it listens: a push is for the time until its next sync.
  struct Place {
    std::weak_ptr<Listener> listener;
    std::uint64_t heard = 0;  // Number of the last sync that it received.
    void Push(v1::CoordinatorSync push) const {
      if (const std::shared_ptr<Listener> stream = listener.lock()) stream->Push(heard, std::move(push));
    }
  };

  // Adds the worker's latest stream, in place of an earlier one.
  void Add(const std::string& incarnation, Place place) { streams_[incarnation] = std::move(place); }
  void Remove(const std::string& incarnation) { streams_.erase(incarnation); }
  // The stream has ended. True if it was the listening one; a later stream is left alone.
  bool Remove(const std::string& incarnation, const Listener* ended) {
    const Place* place = Find(incarnation);
    if (place == nullptr) return false;
    const std::shared_ptr<Listener> listener = place->listener.lock();
    if (listener != nullptr && listener.get() != ended) return false;
    streams_.erase(incarnation);
    return true;
  }
  // nullptr: the worker does not listen, and gets its work with the answer to its next sync.
  const Place* Find(const std::string& incarnation) const {
    const auto at = streams_.find(incarnation);
    return at == streams_.end() ? nullptr : &at->second;
  }

 private:
  std::unordered_map<std::string, Place> streams_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_LISTENERS_H_
