#include "rpc/waits.h"

#include "base/check.h"

namespace inlier {

void Waits::Begin(Wait& wait, Timestamp now) {
  const std::lock_guard lock(mutex_);
  INLIER_CHECK(!wait.place_);
  wait.place_ = waits_.emplace(waits_.end(), now, &wait);
}

bool Waits::End(Wait& wait) {
  const std::lock_guard lock(mutex_);
  if (!wait.place_) return false;
  waits_.erase(*std::exchange(wait.place_, std::nullopt));
  return true;
}

std::function<void()> Waits::TakeFirst(Timestamp at) {
  if (waits_.empty() || at < waits_.front().first) return nullptr;
  Wait& wait = *waits_.front().second;
  waits_.pop_front();
  wait.place_.reset();
  return wait.GiveUp();
}

void Waits::Expire(Timestamp now) {
  while (GiveUpLongest(now, longest_)) {
  }
}

bool Waits::GiveUpLongest(Timestamp now, Duration least) {
  std::function<void()> end;
  {
    const std::lock_guard lock(mutex_);
    end = TakeFirst(now - least);
  }
  if (end == nullptr) return false;
  end();
  return true;
}

}  // namespace inlier
