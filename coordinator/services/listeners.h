// The open streams of workers that have nothing unanswered: where pushed work can be sent.
//
// Thread safety: none; lives on the coordinator's thread.
#ifndef INLIER_COORDINATOR_SERVICES_LISTENERS_H_
#define INLIER_COORDINATOR_SERVICES_LISTENERS_H_

#include <memory>
#include <string>
#include <unordered_map>

#include "inlier/v1/worker_service.pb.h"

namespace inlier {

// A stream to one worker. Push may be called on the coordinator's thread at any time before the stream has
// ended; of several pushes that cannot be written at once only the last one is.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void Push(v1::CoordinatorSync push) = 0;
};

class Listeners {
 public:
  // The worker's latest stream; it takes the place of an earlier one.
  void Add(const std::string& incarnation, std::weak_ptr<Listener> listener) {
    streams_[incarnation] = std::move(listener);
  }
  void Remove(const std::string& incarnation) { streams_.erase(incarnation); }
  // The stream has ended. Whether it was the one that listened: a later one is left alone.
  bool Remove(const std::string& incarnation, const Listener* ended);
  // Nothing happens when the worker does not listen any more: its next sync is answered with the same.
  void Push(const std::string& incarnation, v1::CoordinatorSync push);

 private:
  std::unordered_map<std::string, std::weak_ptr<Listener>> streams_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_LISTENERS_H_
