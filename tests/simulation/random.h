// Chance that a seed decides, the same with every compiler and at every level of optimisation: integers only.
#ifndef INLIER_TESTS_SIMULATION_RANDOM_H_
#define INLIER_TESTS_SIMULATION_RANDOM_H_

#include <cstdint>

#include "base/time.h"

namespace inlier {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15) { Next(); }

  std::uint64_t Next() {  // SplitMix64.
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // 0 ... n - 1.
  int Below(int n) { return static_cast<int>(Next() % static_cast<std::uint64_t>(n)); }
  bool PerMille(int p) { return Below(1000) < p; }
  Duration Between(Duration from, Duration to) {
    const auto range = static_cast<std::uint64_t>((to - from).count()) + 1;
    return from + Duration(static_cast<std::int64_t>(Next() % range));
  }

 private:
  std::uint64_t state_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_RANDOM_H_
