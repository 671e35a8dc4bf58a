// Whose turn it is to touch the coordinator's state: one call at a time, on whichever thread.
//
// A call that finds nobody before it runs at once on the thread that brings it; otherwise it waits and runs
// on the thread of the io_context, in the order of arrival. So an idle coordinator answers without waking
// another thread, and a busy one does its work on one. What people ask for (RunSoon) does not wait behind the
// workers' syncs: it and what waits already have the turn one after the other.
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
#include <vector>

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
      const Holder holder(*this);
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
    if (RunNow(call)) return;
    {
      const std::lock_guard lock(soon_mutex_);
      soon_.emplace_back(std::move(call));
    }
    Post([] {});  // Takes it, if nothing before does.
  }

  // Runs `call` on this thread as soon as it has given the turn back. REQUIRES: the caller has the turn.
  template <typename Call>
  void AfterRelease(Call call) {
    after_.emplace_back(std::move(call));
  }

  // Whether others wait for the turn.
  bool Wanted() const { return waiting_ > 0; }

  // Waits for the turn, runs `call` and returns what it returns.
  template <typename Call>
  auto Take(Call call) {
    const Holder holder(*this);
    return call();
  }

 private:
  // Has the turn; what was left for after it runs when this ends.
  class Holder {
   public:
    explicit Holder(Turn& turn) : Holder(turn, std::unique_lock(turn.mutex_)) {}
    Holder(Turn& turn, std::unique_lock<std::mutex> lock) : turn_(turn), lock_(std::move(lock)) {}
    ~Holder() {
      std::vector<absl::AnyInvocable<void()>> after = std::exchange(turn_.after_, {});
      lock_.unlock();
      for (absl::AnyInvocable<void()>& call : after) call();
    }

   private:
    Turn& turn_;
    std::unique_lock<std::mutex> lock_;
  };

  template <typename Call>
  bool RunNow(Call& call) {
    if (waiting_ > 0) return false;
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || waiting_ > 0) return false;
    const Holder holder(*this, std::move(lock));
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
  std::mutex mutex_;                               // Held by who has the turn.
  std::vector<absl::AnyInvocable<void()>> after_;  // Of who has it.
  std::atomic<std::uint64_t> waiting_ = 0;         // Posted, and not begun.
  std::mutex soon_mutex_;
  std::deque<absl::AnyInvocable<void()>> soon_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_TURN_H_
