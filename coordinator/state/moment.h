// The time of a call, by both clocks.
#ifndef INLIER_COORDINATOR_STATE_MOMENT_H_
#define INLIER_COORDINATOR_STATE_MOMENT_H_

#include "base/time.h"

namespace inlier {

// Both clocks, read at once: `at` for deadlines, `wall` for rows and people.
struct Moment {
  Timestamp at;
  WallTime wall;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_MOMENT_H_
