// The open streams of workers that have nothing unanswered: where pushed work can be sent.
//
// Thread safety: Listener: any thread. Listeners: none; lives on the coordinator's thread.
#ifndef INLIER_COORDINATOR_SERVICES_LISTENERS_H_
#define INLIER_COORDINATOR_SERVICES_LISTENERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "inlier/v1/worker_service.pb.h"

namespace inlier {

// A stream to one worker.
class Listener {
 public:
  virtual ~Listener() = default;
  // Sends `push` unless the stream has ended or heard another sync than `heard`, whose answer tells the same
  // or more. Of several that cannot be written at once only the last one is.
  virtual void Push(std::uint64_t heard, v1::CoordinatorSync push) = 0;
};

class Listeners {
 public:
  // Where something may be pushed that was decided while the stream listened.
  struct Place {
    std::weak_ptr<Listener> listener;
    std::uint64_t heard = 0;  // Number of the sync after whose answer it listened.
    void Push(v1::CoordinatorSync push) const;
  };

  // The worker's latest stream; it takes the place of an earlier one.
  void Add(const std::string& incarnation, Place place) { streams_[incarnation] = std::move(place); }
  void Remove(const std::string& incarnation) { streams_.erase(incarnation); }
  // The stream has ended. Whether it was the one that listened: a later one is left alone.
  bool Remove(const std::string& incarnation, const Listener* ended);
  // nullptr: the worker does not listen; its next sync is answered with what it has to know.
  const Place* Find(const std::string& incarnation) const;

 private:
  std::unordered_map<std::string, Place> streams_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_LISTENERS_H_
