// Use of the machine's CPUs and memory, by /proc/stat and /proc/meminfo: of the whole machine, also in a container.
//
// Thread safety: none.
#ifndef INLIER_WORKER_GPUS_MACHINE_USE_H_
#define INLIER_WORKER_GPUS_MACHINE_USE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "inlier/v1/attempt.pb.h"

namespace inlier {

// Time of all CPUs since the start of the machine, in its own unit.
struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t total = 0;
};
// Of the content of /proc/stat; nullopt: it has another form.
std::optional<CpuTimes> ParseCpuTimes(const std::string& stat);

class MachineUse {
 public:
  explicit MachineUse(std::string folder = "/proc") : folder_(std::move(folder)) {}

  // The device "cpu". Its utilization is the mean since the call before, absent in the first one.
  v1::DeviceReading Read();

 private:
  const std::string folder_;
  std::optional<CpuTimes> last_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_GPUS_MACHINE_USE_H_
