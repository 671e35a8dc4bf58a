// Threads for calls that take long, shared fairly: callers take turns, and none can have all threads or all
// places, so that another caller's call starts at once or next.
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
    // Calls that run or wait; more are RESOURCE_EXHAUSTED.
    int calls_max = kNoLimit;
    int calls_per_caller_max = kNoLimit;
  };

  // Limits of one more thread, and of twice as many calls, than one caller may have.
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

  // Runs `work` on a thread of the pool, after the earlier calls of `caller` (empty: callers without a name)
  // have started; or calls `refuse` at once with RESOURCE_EXHAUSTED, or with UNAVAILABLE after Join.
  void Run(const std::string& caller, std::function<void()> work,
           const std::function<void(absl::Status)>& refuse);

  // Waits for the calls that run or wait; the pool takes no others.
  void Join();

 private:
  struct Queue {
    std::deque<std::function<void()>> waiting;
    int running = 0;
  };

  absl::Status Refusal(const std::string& caller) const;  // REQUIRES: the lock.
  // The caller whose turn it is; end(): none may start a call. REQUIRES: the lock.
  std::map<std::string, Queue>::iterator Next();
  void Serve();  // Runs a thread.

  const Limits limits_;
  const std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Queue> callers_;  // Callers with calls.
  std::string last_;                      // The caller whose call started last.
  int calls_ = 0;
  bool joined_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_BLOCKING_POOL_H_
