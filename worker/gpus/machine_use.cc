#include "worker/gpus/machine_use.h"

#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "worker/gpus/gpu_inventory.h"

namespace inlier {
namespace {

std::string ContentOf(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice": guests are in user and nice too.
std::optional<CpuTimes> ParseCpuTimes(const std::string& stat) {
  constexpr std::size_t kIdle = 4, kWait = 5, kSteal = 8;
  const std::string line = stat.substr(0, stat.find('\n'));
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() <= kWait || words[0] != "cpu") return std::nullopt;
  CpuTimes times;
  for (std::size_t i = 1; i < words.size() && i <= kSteal; ++i) {
    std::uint64_t ticks = 0;
    if (!absl::SimpleAtoi(words[i], &ticks)) return std::nullopt;
    times.total += ticks;
    if (i != kIdle && i != kWait) times.busy += ticks;
  }
  return times;
}

v1::DeviceReading MachineUse::Read() {
  v1::DeviceReading reading;
  reading.set_device("cpu");
  const std::optional<CpuTimes> now = ParseCpuTimes(ContentOf(folder_ + "/stat"));
  if (now && last_ && now->total > last_->total && now->busy >= last_->busy) {
    reading.set_utilization(static_cast<double>(now->busy - last_->busy) /
                            static_cast<double>(now->total - last_->total));
  }
  last_ = now;
  const std::string meminfo = ContentOf(folder_ + "/meminfo");
  const std::uint64_t total = MemoryOfMachine(meminfo), free = MemoryOfMachine(meminfo, "MemAvailable");
  if (total > 0) reading.set_memory_total_mib(total);
  if (total > 0 && free > 0 && free <= total) reading.set_memory_used_mib(total - free);
  return reading;
}

}  // namespace inlier
