#include "core/images/decode_budget.h"

namespace inlier {

std::shared_ptr<const void> DecodeBudget::Reserve(std::int64_t bytes) {
  {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [this, bytes] { return used_ == 0 || used_ + bytes <= bytes_; });
    used_ += bytes;
  }
  return std::shared_ptr<const void>(this, [this, bytes](const void*) { Release(bytes); });
}

void DecodeBudget::Release(std::int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
  }
  released_.notify_all();
}

}  // namespace inlier
