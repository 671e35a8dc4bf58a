// Exponential back-off with jitter: how long to wait before the n-th try.
#ifndef INLIER_BASE_BACKOFF_H_
#define INLIER_BASE_BACKOFF_H_

#include <algorithm>
#include <cmath>

#include "base/time.h"

namespace inlier {

struct Backoff {
  Duration first = std::chrono::milliseconds(100);
  Duration longest = std::chrono::seconds(5);
  double factor = 2.0;
  double jitter = 0.2;  // The wait is scaled by a number in [1 - jitter, 1 + jitter].

  // `tries` have failed so far, from 1; `random` is uniform in [0, 1).
  Duration Wait(int tries, double random) const {
    const double grown = ToSeconds(first) * std::pow(factor, std::max(tries, 1) - 1);
    return FromSeconds(std::min(grown, ToSeconds(longest)) * (1.0 - jitter + 2.0 * jitter * random));
  }
};

}  // namespace inlier

#endif  // INLIER_BASE_BACKOFF_H_
