// Whose turn it is to touch the coordinator's state: one call at a time, on whichever thread.
//
// A call that finds nobody before it runs at once on the thread that brings it; otherwise it waits and runs
// on the thread of the io_context, in the order of arrival. So an idle coordinator answers without waking
// another thread, and a busy one does its work on one. What people ask for (RunSoon) and what has become
// durable (PostSoon) does not wait behind the workers' syncs: it and what waits already have the turn one
// after the other.
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
#include <deque>
#include <mutex>
#include <utility>

#include "absl/functional/any_invocable.h"

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
      RunOneSoon();
      call();
    });
  }

  // Runs `call` before it returns when nothing has the turn or waits for it; otherwise as Post. REQUIRES: the
  // caller holds no lock that a call with the turn takes.
  template <typename Call>
  void Run(Call call) {
    if (!RunNow(call)) Post(std::move(call));
  }

  // As Run, but before the next call that waits.
  template <typename Call>
  void RunSoon(Call call) {
    if (!RunNow(call)) PostSoon(std::move(call));
  }

  // As Post, but before the next call that waits.
  template <typename Call>
  void PostSoon(Call call) {
    {
      const std::lock_guard lock(soon_mutex_);
      soon_.emplace_back(std::move(call));
    }
    Post([] {});  // Takes it, if nothing before does.
  }

  // Whether others wait for the turn.
  bool Wanted() const { return waiting_ > 0; }

  // Waits for the turn, runs `call` and returns what it returns.
  template <typename Call>
  auto Take(Call call) {
    const std::lock_guard lock(mutex_);
    return call();
  }

 private:
  template <typename Call>
  bool RunNow(Call& call) {
    if (waiting_ > 0) return false;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || waiting_ > 0) return false;
    call();
    return true;
  }

  // REQUIRES: the caller has the turn.
  void RunOneSoon() {
    absl::AnyInvocable<void()> call;
    {
      const std::lock_guard lock(soon_mutex_);
      if (soon_.empty()) return;
      call = std::move(soon_.front());
      soon_.pop_front();
    }
    call();
  }

  boost::asio::io_context& io_;
  std::mutex mutex_;                        // Held by who has the turn.
  std::atomic<std::uint64_t> waiting_ = 0;  // Posted, and not begun.
  std::mutex soon_mutex_;
  std::deque<absl::AnyInvocable<void()>> soon_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_TURN_H_
