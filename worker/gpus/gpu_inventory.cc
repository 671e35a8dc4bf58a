#include "worker/gpus/gpu_inventory.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"

namespace inlier {
namespace {

// This process' folder in the cgroup v2 tree; "" when there is none.
std::string CgroupFolder() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("0::", 0) == 0) return "/sys/fs/cgroup" + line.substr(3);
  }
  return "";
}

}  // namespace

std::vector<Gpu> ReadProcGpus(const std::string& folder) {
  std::vector<Gpu> gpus;
  for (const std::filesystem::path& entry : EntriesOf(folder)) {
    std::ifstream in(entry / "information");
    if (!in) continue;
    Gpu gpu{std::to_string(gpus.size()), "", 0};
    for (std::string line; std::getline(in, line);) {
      const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
      if (parts.size() != 2) continue;
      const std::string value(absl::StripAsciiWhitespace(parts[1]));
      if (parts[0] == "Model") gpu.name = value;
      // A driver that has not been asked yet shows question marks.
      if (parts[0] == "GPU UUID" && value.find('?') == std::string::npos) gpu.id = value;
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::vector<Gpu> NarrowGpus(const std::vector<Gpu>& all, const std::string& visible_devices) {
  std::vector<Gpu> kept;
  for (absl::string_view word : absl::StrSplit(visible_devices, ',')) {
    word = absl::StripAsciiWhitespace(word);
    const std::string id(word);
    size_t index = 0;
    if (absl::SimpleAtoi(id, &index)) {
      if (index >= all.size()) break;
      kept.push_back(all[index]);
      continue;
    }
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Gpu& gpu) { return gpu.id.rfind(id, 0) == 0; });
    if (id.empty() || found == all.end()) break;
    kept.push_back(*found);
  }
  return kept;
}

GpuInventory FindGpus(const std::optional<std::string>& visible_devices) {
  GpuInventory inventory;
  if (const Nvml nvml; nvml.ready()) {
    inventory.gpus = nvml.List();
    inventory.source = "nvml";
  }
  if (inventory.gpus.empty()) {
    inventory.gpus = ReadProcGpus("/proc/driver/nvidia/gpus");
    inventory.source = inventory.gpus.empty() ? "no NVIDIA driver" : "procfs";
  }
  if (visible_devices && !inventory.gpus.empty()) {
    inventory.gpus = NarrowGpus(inventory.gpus, *visible_devices);
    inventory.source += ", narrowed by CUDA_VISIBLE_DEVICES";
  }
  return inventory;
}

bool HasMultiProcessService(const std::optional<std::string>& folder) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(folder.value_or("/tmp/nvidia-mps")) / "control",
                                 error);
}

std::optional<int> CpusOfQuota(const std::string& cpu_max) {
  const std::vector<std::string> words = absl::StrSplit(cpu_max, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  double quota = 0, period = 0;
  if (words.size() != 2 || !absl::SimpleAtod(words[0], &quota) || !absl::SimpleAtod(words[1], &period))
    return std::nullopt;
  if (quota <= 0 || period <= 0) return std::nullopt;
  return std::max(1, static_cast<int>(quota / period));
}

std::vector<int> UsableCpus() {
  std::vector<int> cpus;
  // Room for 8192 CPUs; the kernel refuses a mask that is smaller than its own.
  constexpr int kCpusMax = 8192;
  cpu_set_t* set = CPU_ALLOC(kCpusMax);
  const size_t size = CPU_ALLOC_SIZE(kCpusMax);
  CPU_ZERO_S(size, set);
  if (::sched_getaffinity(0, size, set) == 0) {
    for (int cpu = 0; cpu < kCpusMax; ++cpu) {
      if (CPU_ISSET_S(cpu, size, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  if (cpus.empty()) {
    for (unsigned cpu = 0; cpu < std::max(1u, std::thread::hardware_concurrency()); ++cpu)
      cpus.push_back(static_cast<int>(cpu));
  }
  std::string folder = CgroupFolder();
  while (folder.size() > std::string("/sys/fs/cgroup").size()) {
    std::ifstream in(folder + "/cpu.max");
    std::string content;
    std::getline(in, content);
    if (const std::optional<int> allowed = CpusOfQuota(content);
        allowed && *allowed < static_cast<int>(cpus.size())) {
      cpus.resize(static_cast<size_t>(*allowed));
    }
    folder = std::filesystem::path(folder).parent_path().string();
  }
  return cpus;
}

std::uint64_t MemoryOfMachine(const std::string& meminfo) {
  for (absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" :\t"), absl::SkipEmpty());
    std::uint64_t kib = 0;
    if (words.size() >= 2 && words[0] == "MemTotal" && absl::SimpleAtoi(words[1], &kib)) return kib >> 10;
  }
  return 0;
}

std::optional<std::uint64_t> MemoryOfLimit(const std::string& memory_max) {
  std::uint64_t bytes = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(memory_max), &bytes)) return std::nullopt;
  return bytes >> 20;
}

std::uint64_t UsableMemoryMib() {
  std::ifstream meminfo("/proc/meminfo");
  std::uint64_t mib = MemoryOfMachine({std::istreambuf_iterator<char>(meminfo), {}});
  std::string folder = CgroupFolder();
  while (folder.size() > std::string("/sys/fs/cgroup").size()) {
    std::ifstream in(folder + "/memory.max");
    std::string content;
    std::getline(in, content);
    if (const std::optional<std::uint64_t> allowed = MemoryOfLimit(content); allowed && *allowed > 0)
      mib = mib == 0 ? *allowed : std::min(mib, *allowed);
    folder = std::filesystem::path(folder).parent_path().string();
  }
  return mib;
}

}  // namespace inlier
