// What a worker reads of its devices at one time.
#ifndef INLIER_WORKER_GPUS_DEVICE_READINGS_H_
#define INLIER_WORKER_GPUS_DEVICE_READINGS_H_

#include <optional>
#include <vector>

#include "inlier/v1/attempt.pb.h"

namespace inlier {

struct DeviceReadings {
  std::vector<v1::DeviceReading> gpus;
  std::optional<v1::DeviceReading> machine;
};

}  // namespace inlier

#endif  // INLIER_WORKER_GPUS_DEVICE_READINGS_H_
