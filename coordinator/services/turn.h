// Whose turn it is to touch the coordinator's state: one call at a time, on whichever thread.
//
// A call that finds nobody before it runs at once on the thread that brings it; otherwise it waits and runs
// on the thread of the io_context, in the order of arrival. So an idle coordinator answers without waking
// another thread, and a busy one does its work on one.
//
// "On the coordinator's thread" in this folder means: having the turn.
//
// Thread safety: any thread. A call must not ask for the turn with Run or Take again; it may Post.
#ifndef INLIER_COORDINATOR_SERVICES_TURN_H_
#define INLIER_COORDINATOR_SERVICES_TURN_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <mutex>
#include <utility>

namespace inlier {

class Turn {
 public:
  // `io` is run by one thread, and outlives the turn.
  explicit Turn(boost::asio::io_context& io) : io_(io) {}

  // Runs `call` later, on the io_context's thread.
  template <typename Call>
  void Post(Call call) {
    ++waiting_;
    boost::asio::post(io_, [this, call = std::move(call)]() mutable {
      const std::lock_guard lock(mutex_);
      --waiting_;
      call();
    });
  }

  // Runs `call` before it returns when nothing has the turn or waits for it; otherwise as Post. REQUIRES: the
  // caller holds no lock that a call with the turn takes.
  template <typename Call>
  void Run(Call call) {
    if (waiting_ == 0) {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock.owns_lock() && waiting_ == 0) {
        call();
        return;
      }
    }
    Post(std::move(call));
  }

  // Waits for the turn, runs `call` and returns what it returns.
  template <typename Call>
  auto Take(Call call) {
    const std::lock_guard lock(mutex_);
    return call();
  }

 private:
  boost::asio::io_context& io_;
  std::mutex mutex_;                        // Held by who has the turn.
  std::atomic<std::uint64_t> waiting_ = 0;  // Posted, and not begun.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_TURN_H_
