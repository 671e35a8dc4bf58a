#include "worker/gpus/gpu_inventory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/processes/usable_cpus.h"

namespace inlier {
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
    const auto found = std::ranges::find_if(all, [&](const Gpu& gpu) { return gpu.id.rfind(id, 0) == 0; });
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

std::uint64_t MemoryOfMachine(const std::string& meminfo, std::string_view key) {
  for (absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" :\t"), absl::SkipEmpty());
    std::uint64_t kib = 0;
    if (words.size() >= 2 && words[0] == key && absl::SimpleAtoi(words[1], &kib)) return kib >> 10;
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
  for (const std::string& folder : CgroupFolders()) {
    std::ifstream in(folder + "/memory.max");
    std::string content;
    std::getline(in, content);
    if (const std::optional<std::uint64_t> allowed = MemoryOfLimit(content); allowed && *allowed > 0)
      mib = mib == 0 ? *allowed : std::min(mib, *allowed);
  }
  return mib;
}

}  // namespace inlier
