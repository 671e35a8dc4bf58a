// The memory that images may take while they are decoded, over all threads of the process: an image waits
// until there is room for it, one at a time where it is larger than all of the room.
//
// Thread safety: all methods may be called by several threads at once.
#ifndef INLIER_CORE_IMAGES_DECODE_BUDGET_H_
#define INLIER_CORE_IMAGES_DECODE_BUDGET_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace inlier {

class DecodeBudget {
 public:
  explicit DecodeBudget(std::int64_t bytes) : bytes_(bytes) {}

  // Waits for room; the bytes are given back when the last copy of the result ends. It must not outlive the
  // budget. A thread that holds a reservation must not ask for another.
  std::shared_ptr<const void> Reserve(std::int64_t bytes);

 private:
  void Release(std::int64_t bytes);

  const std::int64_t bytes_;
  std::mutex mutex_;
  std::condition_variable released_;
  std::int64_t used_ = 0;  // Under mutex_.
};

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_DECODE_BUDGET_H_
