// Threads for calls that block, with a limit on how many may be there.
//
// Thread safety: all methods may be called from any thread.
#ifndef INLIER_COORDINATOR_SERVICES_BLOCKING_POOL_H_
#define INLIER_COORDINATOR_SERVICES_BLOCKING_POOL_H_

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace inlier {

class BlockingPool {
 public:
  // At most `calls_max` at once, those that wait included. `what` names them: "queries".
  BlockingPool(int threads, int calls_max, std::string what)
      : calls_max_(calls_max), what_(std::move(what)), pool_(static_cast<std::size_t>(threads)) {}

  // Runs `work` on a thread of the pool, or calls `refuse` at once with RESOURCE_EXHAUSTED.
  void Run(std::function<void()> work, const std::function<void(absl::Status)>& refuse) {
    if (calls_.fetch_add(1) >= calls_max_) {
      --calls_;
      refuse(absl::ResourceExhaustedError(
          absl::StrCat("too many ", what_, " at once, at most ", calls_max_, "; try again in a moment")));
      return;
    }
    boost::asio::post(pool_, [this, work = std::move(work)] {
      work();
      --calls_;
    });
  }

  // Waits for the calls that run or wait.
  void Join() { pool_.join(); }

 private:
  const int calls_max_;
  const std::string what_;
  std::atomic<int> calls_{0};
  boost::asio::thread_pool pool_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_BLOCKING_POOL_H_
