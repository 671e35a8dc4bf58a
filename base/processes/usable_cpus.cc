#include "base/processes/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/environment.h"

namespace inlier {
namespace {

std::vector<int> AffinityMask() {
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
  return cpus;
}

}  // namespace

UsableCpus FindUsableCpus() {
  UsableCpus cpus{AffinityMask(), 0};
  cpus.count = static_cast<int>(cpus.bound_to.size());
  for (const std::string& folder : CgroupFolders()) {
    std::ifstream in(folder + "/cpu.max");
    std::string content;
    std::getline(in, content);
    cpus.count = std::min(cpus.count, CpusOfQuota(content).value_or(cpus.count));
  }
  int of_job = 0;  // Of Slurm, which binds jobs to nothing without its plug-ins for affinity.
  if (absl::SimpleAtoi(EnvironmentVariableOr("SLURM_CPUS_ON_NODE", ""), &of_job) && of_job >= 1)
    cpus.count = std::min(cpus.count, of_job);
  return cpus;
}

bool HasWaitPolicy() {
  return EnvironmentVariable("OMP_WAIT_POLICY") || EnvironmentVariable("GOMP_SPINCOUNT");
}

std::optional<int> CpusOfQuota(std::string_view cpu_max) {
  const std::vector<std::string> words = absl::StrSplit(absl::string_view(cpu_max.data(), cpu_max.size()),
                                                        absl::ByAnyChar(" \n"), absl::SkipEmpty());
  double quota = 0, period = 0;
  if (words.size() != 2 || !absl::SimpleAtod(words[0], &quota) || !absl::SimpleAtod(words[1], &period))
    return std::nullopt;
  if (quota <= 0 || period <= 0) return std::nullopt;
  return std::max(1, static_cast<int>(std::min(quota / period, 1e6)));
}

std::vector<std::string> CgroupFolders() {
  const std::string root = "/sys/fs/cgroup";
  std::vector<std::string> folders;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string folder = root + line.substr(3); folder.size() > root.size() + 1;
         folder = std::filesystem::path(folder).parent_path().string())
      folders.push_back(folder);
    break;
  }
  return folders;
}

}  // namespace inlier
