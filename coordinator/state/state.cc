#include "coordinator/state/state.h"

#include <utility>

#include "base/deliberate_bug.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/message_form.h"

namespace inlier {

OrchestratorOptions OrchestratorOptions::FromConfig(const v1::CoordinatorConfig& config,
                                                    const std::string& version) {
  OrchestratorOptions options;
  options.version = version;
  options.spec_form = FormDigest(*v1::TrialSpec::descriptor());
  options.lease_ttl = std::chrono::milliseconds(config.lease_ttl_ms());
  options.lease_margin = std::chrono::milliseconds(config.lease_margin_ms());
  options.stall = std::chrono::seconds(config.stall_seconds());
  options.locality_wait = std::chrono::milliseconds(config.locality_wait_ms());
  options.materialised_trials_max = config.materialised_trials_max();
  options.workers_per_caller_max = config.workers_per_caller_max();
  options.slots_per_caller_max = config.slots_per_caller_max();
  for (const v1::GroupQuota& quota : config.quotas()) options.quotas[quota.group()] = quota.max_parallel();
  for (const v1::CallerLimits& limits : config.callers()) options.callers[limits.name()] = limits;
  return options;
}

const v1::CallerLimits* OrchestratorOptions::LimitsOf(const std::string& caller) const {
  if (caller.empty()) return nullptr;
  auto at = callers.find(caller);
  if (at == callers.end()) at = callers.find("*");
  return at == callers.end() ? nullptr : &at->second;
}

State::State(OrchestratorOptions given)
    : options(std::move(given)),
      workers(options.lease_ttl + options.lease_margin),
      leases(INLIER_BUG("margin_forgotten") ? options.lease_ttl : options.lease_ttl + options.lease_margin) {
  for (const auto& [group, max_parallel] : options.quotas) ready.SetQuota(group, max_parallel);
}

}  // namespace inlier
