// Failures of the devices of a worker (its GPUs, or its CPU) without a success between them.
//
// A device on which attempts fail that others could finish is put in quarantine: no attempt starts on it but one
// probe at a time, at growing intervals. A probe that succeeds ends the quarantine. The rules are in
// quarantine/quarantine.h; nothing of this is stored.
#ifndef INLIER_COORDINATOR_STATE_DEVICE_HEALTH_H_
#define INLIER_COORDINATOR_STATE_DEVICE_HEALTH_H_

#include <map>
#include <string>

#include "base/time.h"
#include "coordinator/store/ids.h"

namespace inlier {

struct DeviceHealth {
  std::size_t failures = 0;  // Since its last success.
  std::string reason;        // In quarantine: why. Empty: not in quarantine.
  int probes_failed = 0;
  Token probe = 0;         // The attempt that tests the device; 0: none.
  bool may_probe = false;  // One attempt may start, as the next probe.
  Timestamp probe_at;      // Otherwise: when one may.

  bool InQuarantine() const { return !reason.empty(); }
  // No attempt may start on the device now.
  bool Blocked() const { return InQuarantine() && !may_probe; }
};

// By device, "cpu" or "cuda:0"; a device without an entry has no failure since its last success.
using DeviceHealths = std::map<std::string, DeviceHealth>;

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_DEVICE_HEALTH_H_
