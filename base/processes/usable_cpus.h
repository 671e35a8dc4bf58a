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
  // How many of them it may keep busy: all of them, or fewer by the control group's quota or the job of Slurm; at least 1.
  int count;
};

UsableCpus FindUsableCpus();

// Whole CPUs that the content of a cgroup's cpu.max ("200000 100000", "max 100000") allows, at least 1; nullopt: no limit.
std::optional<int> CpusOfQuota(std::string_view cpu_max);

// This process' folder in the cgroup v2 tree and those above it; none without one.
std::vector<std::string> CgroupFolders();

// The variable with which libgomp's threads wait in a loop for some 50 microseconds (30 to 50 ns a turn) before they sleep: about as
// long as to sleep and to wake up takes, so that waiting costs at most twice what the better of both would. libgomp's own
// 300,000 turns are 10 ms and more, in which threads that share CPUs with others wait for one that does not run.
inline constexpr char kShortSpin[] = "GOMP_SPINCOUNT=1500";

// True where the environment says already how threads of OpenMP wait.
bool HasWaitPolicy();

}  // namespace inlier

#endif  // INLIER_BASE_PROCESSES_USABLE_CPUS_H_
