// Options of the coordinator's decisions, from the configuration.
#ifndef INLIER_COORDINATOR_STATE_OPTIONS_H_
#define INLIER_COORDINATOR_STATE_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

struct OrchestratorOptions {
  std::string version;    // Workers have it or a neighbour (base/version_skew.h).
  std::string spec_form;  // FormDigest of TrialSpec. Workers of another version and form get nothing new.
  Duration lease_ttl = std::chrono::seconds(15);
  Duration lease_margin = std::chrono::seconds(1);
  Duration stall = std::chrono::seconds(600);
  Duration locality_wait = std::chrono::seconds(2);  // Of a stage for the worker that has its checkpoint.
  // How long a stage waits for a worker that had its data and has gone, where all others have other data.
  Duration data_wait = std::chrono::hours(1);
  std::uint64_t materialised_trials_max = 100'000;  // Trials that have not ended, over all sweeps.
  std::uint64_t expand_at_submit = 1024;   // A grid of at most so many points is made while it is submitted.
  std::uint64_t expand_first = 32;         // Trials of a larger one that are made then.
  std::uint64_t expand_per_tick = 256;     // Trials made in one later step at most: others wait for it.
  std::uint64_t expand_ahead = 1024;       // Trials of a sweep that wait: made before they are needed.
  std::uint64_t passed_per_tick = 10'000;  // Points that have a trial already, skipped in one step.
  std::uint64_t workers_per_caller_max = 20'000;      // Connected at once.
  std::uint64_t slots_per_caller_max = 100'000;       // Of those.
  std::map<std::string, std::uint32_t> quotas{};      // Group of sweeps -> most attempts at once.
  std::map<std::string, v1::CallerLimits> callers{};  // By name; "*": those that no other entry names.

  std::string database_id{};  // Events of attempts of another database are not taken. Empty: not checked.

  // nullptr: the caller has no limits.
  const v1::CallerLimits* LimitsOf(const std::string& caller) const;
  static OrchestratorOptions FromConfig(const v1::CoordinatorConfig& config, const std::string& version);
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_OPTIONS_H_
