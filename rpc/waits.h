// The calls that wait for their caller: for its next message, or for room to send it one.
//
// A caller that lets a call wait for longer than the limit holds a place by doing nothing; its wait is given
// up. The waits are kept in the order in which they began, so the longest is the first.
//
// Thread safety: all functions may be called from any thread.
#ifndef INLIER_RPC_WAITS_H_
#define INLIER_RPC_WAITS_H_

#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "base/time.h"

namespace inlier {

class Waits {
 public:
  // A wait of a call. REQUIRES: it is not listed when it is destroyed.
  class Wait {
   protected:
    ~Wait() = default;

   private:
    friend class Waits;
    // It has been too long and is listed no more. Called under the list's lock, where the call still exists;
    // the returned function runs without the lock, and ends the call.
    virtual std::function<void()> GiveUp() = 0;

    std::optional<std::list<std::pair<Timestamp, Wait*>>::iterator> place_;
  };

  explicit Waits(Duration longest) : longest_(longest) {}

  // REQUIRES: `wait` is not listed.
  void Begin(Wait& wait, Timestamp now);
  // False: it has been given up.
  bool End(Wait& wait);

  // Gives up every wait that is longer than the limit.
  void Expire(Timestamp now);
  // Gives up the longest wait if it is at least `least` long, to free its place. False: there is none.
  bool GiveUpLongest(Timestamp now, Duration least);

  Duration longest() const { return longest_; }

 private:
  // The first wait, off the list, if it began at or before `at`; empty: it did not. Under mutex_.
  std::function<void()> TakeFirst(Timestamp at);

  const Duration longest_;
  std::mutex mutex_;
  std::list<std::pair<Timestamp, Wait*>> waits_;
};

}  // namespace inlier

#endif  // INLIER_RPC_WAITS_H_
