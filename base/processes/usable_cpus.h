// The CPUs that this process may use, and how long its threads may wait for each other in a loop.
#ifndef INLIER_BASE_PROCESSES_USABLE_CPUS_H_
#define INLIER_BASE_PROCESSES_USABLE_CPUS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inlier {

struct UsableCpus {
  std::vector<int> bound_to;  // The affinity mask, rising; at least one.
  int count;  // How many of them it may keep busy, by the cgroup's quota and the Slurm job; at least 1.
};

UsableCpus FindUsableCpus();

// Whole CPUs that a cgroup's cpu.max ("200000 100000", "max 100000") allows, at least 1; nullopt for no limit.
std::optional<int> CpusOfQuota(std::string_view cpu_max);

// This process' folder in the cgroup v2 tree and those above it; none without one.
std::vector<std::string> CgroupFolders();

// Makes libgomp's threads wait in a loop for some 50 us (30 to 50 ns a turn) before they sleep, about as long as
// sleeping and waking takes, so that waiting costs at most twice the better of both. Its own 300,000 turns are
// 10 ms and more, in which threads that share CPUs wait for one that does not run.
inline constexpr char kShortSpin[] = "GOMP_SPINCOUNT=1500";

// True where the environment already sets how threads of OpenMP wait.
bool HasWaitPolicy();

}  // namespace inlier

#endif  // INLIER_BASE_PROCESSES_USABLE_CPUS_H_
