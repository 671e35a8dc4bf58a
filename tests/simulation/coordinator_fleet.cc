// The coordinator's calls about its fleet, as coordinator/process/coordinator.cc makes them for the driver.
#include <algorithm>
#include <utility>

#include "tests/simulation/coordinator_process.h"

namespace inlier {

OrchestratorOptions CoordinatorProcess::OptionsHere() const {
  OrchestratorOptions options = Options();
  if (world_.plan().fleet) {
    options.fleet = world_.plan().fleet->config;
    options.new_fleet_id = kFleetId;
  }
  return options;
}

void CoordinatorProcess::FleetLook(const std::optional<EngineLook>& look, Reply<FleetStep> reply) {
  std::optional<EngineLook> seen = look;
  if (seen) {
    oracle_.fleet().LookTaken(*seen);
    seen->began += clock_offset_;
  }
  Effects effects;
  const FleetStep step = orchestrator_->OnFleetLook(seen, Now(), health_.ok(), effects);
  if (seen) oracle_.fleet().StepDecided(step);
  Deliver(std::move(effects), nullptr, [step, reply = std::move(reply)](const absl::Status& status) {
    reply(status.ok() ? absl::StatusOr<FleetStep>(step) : absl::StatusOr<FleetStep>(status));
  });
}

void CoordinatorProcess::FleetSubmitted(const Submitted& submitted) {
  Effects effects;
  orchestrator_->OnFleetSubmitted(submitted, Now(), effects);
  Deliver(std::move(effects), nullptr, nullptr);
}

void CoordinatorProcess::FleetCancelled(const std::vector<std::string>& jobs, const absl::Status& status) {
  if (!status.ok()) oracle_.fleet().CancelFailed(jobs);
  Effects effects;
  orchestrator_->OnFleetCancelled(jobs, status, Now(), effects);
  Deliver(std::move(effects), nullptr, nullptr);
}

}  // namespace inlier
