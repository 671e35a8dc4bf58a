// A fleet in a world: its configuration, its cluster, and what goes wrong with both.
#ifndef INLIER_TESTS_SIMULATION_FLEET_FAULTS_H_
#define INLIER_TESTS_SIMULATION_FLEET_FAULTS_H_

#include <cstdint>

#include "inlier/v1/fleet.pb.h"
#include "tests/simulation/random.h"

namespace inlier {

// In the names of the fleet's jobs.
inline constexpr char kFleetId[] = "5f1ee7a0";

// Chances are per mille: of the calls of Slurm's programs, or of the occasions of a trouble.
struct FleetFaults {
  explicit FleetFaults(Random& random);

  v1::FleetConfig config;
  int nodes;            // Of the cluster; one job runs on each.
  std::uint32_t slots;  // Of a worker.

  int unreachable, unanswered;  // Of calls of sbatch: no connection; no answer, whether it took them or not.
  int list_fails, list_slow;    // Of calls of squeue.
  int cancel_fails;             // Of calls of scancel.
  int limits;                   // Of occasions: for a while few jobs are allowed.
  int outages, stale, hidden;   // No answers; answers of before; jobs that are left out of the answers.
  int failed_nodes;             // Jobs that are killed, and some of them queued again.
  int crash_at_submission;      // Of submissions: the coordinator dies before the answer.
  int people;                   // They stop, resume and scale the fleet.
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_FLEET_FAULTS_H_
