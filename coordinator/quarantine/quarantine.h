// Quarantine of devices on which attempts fail that other devices could finish.
//
// A device enters it with its third failure in a row (CRASHED, STALLED or TIMED_OUT, no result between them) while
// another connected device has fewer: when all of them fail, the trials are at fault. It then gets one attempt at a
// time, as a probe: the first after a minute, and each that fails doubles the time to the next, up to a quarter of an
// hour. A result ends the quarantine.
//
// A failure is the device's and not the stage's, that is SICK_DEVICE, in quarantine, and where the same stage has crashed on
// the same device just before, as long as another device works.
#ifndef INLIER_COORDINATOR_QUARANTINE_QUARANTINE_H_
#define INLIER_COORDINATOR_QUARANTINE_QUARANTINE_H_

#include <cstddef>

#include "coordinator/state/feature.h"

namespace inlier {

inline constexpr std::size_t kFailuresBeforeQuarantine = 3;

// Lets devices be probed, and takes them out of quarantine by results.
Feature Quarantine();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_QUARANTINE_QUARANTINE_H_
