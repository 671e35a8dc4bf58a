#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"

namespace inlier {

absl::Status ParallelFor(std::int64_t count, int threads,
                         const std::function<absl::Status(std::int64_t)>& step,
                         const std::function<void(std::int64_t)>& after_each) {
  INLIER_CHECK(threads >= 1);
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;  // Guards the two below.
  std::int64_t failed_at = count;
  absl::Status failure;
  const auto work = [&](bool reports) {
    // Steps are handed out in order, so all before a failed one have started and report their own failures.
    for (std::int64_t i; (i = next++) < count;) {
      absl::Status status = step(i);
      if (!status.ok()) {
        const std::lock_guard lock(mutex);
        if (i < failed_at) {
          failed_at = i;
          failure = std::move(status);
        }
        next = count;
      }
      if (reports && after_each) after_each(std::min(next.load(), count));
    }
  };
  std::vector<std::thread> others;
  const auto wanted = std::min<std::int64_t>(threads, count);
  for (std::int64_t i = 1; i < wanted; ++i) others.emplace_back(work, false);
  work(true);
  for (std::thread& other : others) other.join();
  return failure;
}

}  // namespace inlier
