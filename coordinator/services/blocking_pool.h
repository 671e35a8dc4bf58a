// Threads for calls that take long, shared fairly: callers take turns, and none of them can have all threads or
// all places, so that the call of another one starts at once or as the next.
//
// Thread safety: all methods may be called from any thread.
#ifndef INLIER_COORDINATOR_SERVICES_BLOCKING_POOL_H_
#define INLIER_COORDINATOR_SERVICES_BLOCKING_POOL_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace inlier {

class BlockingPool {
 public:
  static constexpr int kNoLimit = std::numeric_limits<int>::max();

  struct Limits {
    int threads = 1;
    int threads_per_caller = 1;
    // At once, those that wait included; more are RESOURCE_EXHAUSTED.
    int calls_max = kNoLimit;
    int calls_per_caller_max = kNoLimit;
  };

  // One thread more, and twice as many places, as one caller may have.
  static constexpr Limits ByCaller(int threads, int calls_max) {
    return {.threads = threads + 1,
            .threads_per_caller = threads,
            .calls_max = 2 * calls_max,
            .calls_per_caller_max = calls_max};
  }

  // `what` names the calls: "queries".
  BlockingPool(const Limits& limits, std::string what);
  ~BlockingPool() { Join(); }
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // Runs `work` on a thread of the pool, after the earlier calls of `caller` (empty: callers without a name) were
  // started; or calls `refuse` at once with RESOURCE_EXHAUSTED, or with UNAVAILABLE after Join.
  void Run(const std::string& caller, std::function<void()> work,
           const std::function<void(absl::Status)>& refuse);

  // Waits for the calls that run or wait; the pool takes no others.
  void Join();

 private:
  struct Queue {  // Of one caller.
    std::deque<std::function<void()>> waiting;
    int running = 0;
  };

  // Of all below: REQUIRES the lock.
  absl::Status Refusal(const std::string& caller) const;
  // The caller whose turn it is; end(): none may start a call.
  std::map<std::string, Queue>::iterator Next();
  void Serve();  // A thread; takes the lock.

  const Limits limits_;
  const std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Queue> callers_;  // With calls.
  std::string last_;                      // Whose call was started last.
  int calls_ = 0;
  bool joined_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_BLOCKING_POOL_H_
