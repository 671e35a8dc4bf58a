#include "tests/simulation/fleet_faults.h"

#include "base/check.h"
#include "coordinator/fleet/config_check.h"

namespace inlier {
namespace {

constexpr std::uint32_t kLookSeconds = 4;
constexpr std::uint32_t kCallSeconds = 5;
// Longer than a request of sbatch takes to arrive after its program was killed (slurm_programs.cc).
constexpr std::uint32_t kUnclearSeconds = 30;

}  // namespace

FleetFaults::FleetFaults(Random& random) {
  const auto below = [&random](int n) { return static_cast<std::uint32_t>(random.Below(n)); };
  const auto some = [&random](int most) { return random.PerMille(350) ? 0 : 1 + random.Below(most); };
  nodes = 2 + random.Below(4);
  slots = 1 + below(2);
  config.set_minimum(below(4) == 0 ? 1 : 0);
  config.set_maximum(2 + below(4));
  config.set_idle_seconds(10 + below(30));
  if (random.PerMille(500)) config.set_slots(slots);
  config.set_worker_config("/shared/worker.yaml");
  config.set_worker_program("/usr/bin/inlier-worker");
  config.set_look_seconds(kLookSeconds);
  config.set_call_seconds(kCallSeconds);
  config.set_unclear_seconds(kUnclearSeconds);
  v1::SlurmConfig& slurm = *config.mutable_slurm();
  slurm.set_partition("gpu");
  // Some jobs end while there is trouble. With shorter ones an attempt that saved nothing for long could need more than a
  // whole job, and would wait for a person.
  constexpr std::uint32_t kMinutes[] = {5, 8, 60};
  slurm.set_time_limit_minutes(kMinutes[random.Below(3)]);
  slurm.set_notice_seconds(10 + below(10));
  slurm.set_array_max(random.PerMille(200) ? 1 : 100);
  INLIER_CHECK(CheckFleetConfig(config).ok());
  unreachable = some(100);
  unanswered = some(300);
  list_fails = some(200);
  list_slow = some(100);
  cancel_fails = some(200);
  limits = some(60);
  outages = some(40);
  stale = some(40);
  hidden = some(40);
  failed_nodes = some(80);
  crash_at_submission = some(300);
  people = some(40);
}

}  // namespace inlier
