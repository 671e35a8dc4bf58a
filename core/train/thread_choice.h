// The number of threads with which updates are fastest, found on the updates of the training itself: all that it may
// have, then half of them, and on as long as fewer are faster. A small model spends more time on bringing threads
// together than it saves, and threads that share their CPUs with other programs wait for one that does not run.
//
// Other programs start and end while a training runs: the choice is made again when updates become slower, and now and then.
#ifndef INLIER_CORE_TRAIN_THREAD_CHOICE_H_
#define INLIER_CORE_TRAIN_THREAD_CHOICE_H_

#include <algorithm>
#include <limits>

namespace inlier {

class ThreadChoice {
 public:
  // REQUIRES: 1 <= fewest <= most.
  ThreadChoice(int fewest, int most) : fewest_(fewest), most_(most), tried_(most), best_(most) {}

  // The number for the next update, whose time Add() gets.
  int threads() const { return tried_; }

  void Add(double seconds) {
    if (fewest_ == most_) return;
    (settled_ ? since_ : trying_) += seconds;
    sum_ += seconds;
    longest_ = std::max(longest_, seconds);
    if (++updates_ < kUpdates) return;
    // Without the slowest: one is often another program's.
    const double mean = (sum_ - longest_) / (kUpdates - 1);
    sum_ = longest_ = 0;
    updates_ = 0;
    if (settled_) {
      if (since_ > kRest * trying_ || (mean > kSlower * best_seconds_ && since_ > kShortRest * trying_))
        Begin();
    } else if (mean >= best_seconds_) {
      Settle();
    } else {
      best_ = tried_;
      best_seconds_ = mean;
      if (tried_ == fewest_) return Settle();
      tried_ = std::max(fewest_, tried_ / 2);
    }
  }

 private:
  static constexpr int kUpdates = 8;       // With each number.
  static constexpr double kRest = 50;      // Trying takes about 2 % of the time at most,
  static constexpr double kShortRest = 5;  // and 20 % where the load changes all the time.
  static constexpr double kSlower = 1.5;

  void Begin() {
    settled_ = false;
    trying_ = since_ = 0;
    tried_ = most_;
    best_seconds_ = std::numeric_limits<double>::infinity();
  }
  void Settle() {
    settled_ = true;
    tried_ = best_;
  }

  int fewest_, most_;
  int tried_, best_;
  bool settled_ = false;
  int updates_ = 0;
  double sum_ = 0, longest_ = 0;
  double best_seconds_ = std::numeric_limits<double>::infinity();
  double trying_ = 0, since_ = 0;  // Seconds of the last trying, and after it.
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_THREAD_CHOICE_H_
