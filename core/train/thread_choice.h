// The number of threads with which updates are fastest, found on the updates of the training itself: all that it may
// have, then half of them, and on as long as fewer are faster. A small model spends more time on bringing threads
// together than it saves.
#ifndef INLIER_CORE_TRAIN_THREAD_CHOICE_H_
#define INLIER_CORE_TRAIN_THREAD_CHOICE_H_

#include <algorithm>
#include <limits>

namespace inlier {

class ThreadChoice {
 public:
  // REQUIRES: 1 <= fewest <= most.
  ThreadChoice(int fewest, int most) : fewest_(fewest), tried_(most), best_(most), settled_(fewest == most) {}

  // Of the next update.
  int threads() const { return settled_ ? best_ : tried_; }

  // The time of an update with that many threads.
  void Add(double seconds) {
    if (settled_) return;
    shortest_ = std::min(shortest_, seconds);
    if (++updates_ < kUpdates) return;
    if (shortest_ >= best_seconds_) {
      settled_ = true;
      return;
    }
    best_ = tried_;
    best_seconds_ = shortest_;
    settled_ = tried_ == fewest_;
    tried_ = std::max(fewest_, tried_ / 2);
    shortest_ = std::numeric_limits<double>::infinity();
    updates_ = 0;
  }

 private:
  static constexpr int kUpdates = 8;  // With each number; the shortest counts.
  const int fewest_;
  int tried_, best_;
  bool settled_;
  int updates_ = 0;
  double shortest_ = std::numeric_limits<double>::infinity();
  double best_seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_THREAD_CHOICE_H_
