#include <google/protobuf/util/json_util.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "fleet/config_check.h"
#include "fleet/fleet.h"
#include "fleet/store.h"

namespace inlier {
namespace {

absl::Status NoFleet() {
  return absl::NotFoundError(
      "the coordinator has no fleet; make one with inlier fleet slurm, or with `fleet` in its configuration");
}

absl::Status StoreFleet(FleetContext& context) {
  Fleet& fleet = context.fleet;
  RETURN_IF_ERROR(ApplyFleetRow(fleet));
  fleet.row->home = fleet.home;
  if (!fleet.row->stopped || !INLIER_BUG("stop_of_the_fleet_not_stored"))
    context.changes.emplace_back(*fleet.row);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::SetFleetResponse> SetFleet(FleetContext& context, const v1::SetFleetRequest& request,
                                              const std::string& new_id) {
  Fleet& fleet = context.fleet;
  if (fleet.row && fleet.row->from_configuration)
    return absl::FailedPreconditionError(
        "the fleet is in the coordinator's configuration; change `fleet` there and restart the coordinator, "
        "or use inlier fleet scale");
  RETURN_IF_ERROR(CheckFleetConfig(request.config()));
  for (const char* field : {"programs", "conf"}) {
    const v1::SlurmConfig& slurm = request.config().slurm();
    if (slurm.GetReflection()->HasField(slurm, slurm.GetDescriptor()->FindFieldByName(field))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "fleet.slurm.", field,
          ": it decides what the coordinator runs on its own machine, so no request sets it; put `fleet` "
          "with it into the coordinator's configuration, or leave it out: Slurm's programs are found by PATH "
          "and SLURM_CONF of the coordinator's environment"));
    }
  }
  FleetRow row{.id = fleet.row ? fleet.row->id : new_id};
  if (!google::protobuf::util::MessageToJsonString(request.config(), &row.config_json).ok())
    return absl::InvalidArgumentError("fleet: it cannot be stored as JSON");
  if (fleet.row && JobsDiffer(fleet.config, request.config())) fleet.config_since = fleet.next_submission;
  fleet.row = std::move(row);
  fleet.patience = {};
  // Its jobs may have other slots than those of before.
  fleet.slots.clear();
  fleet.slots_of = fleet.next_submission;
  RETURN_IF_ERROR(StoreFleet(context));
  v1::SetFleetResponse response;
  response.set_id(fleet.row->id);
  return response;
}

absl::StatusOr<v1::ScaleFleetResponse> ScaleFleet(FleetContext& context,
                                                  const v1::ScaleFleetRequest& request) {
  Fleet& fleet = context.fleet;
  if (!fleet.row) return NoFleet();
  if (request.reset() ? request.has_minimum() || request.has_maximum()
                      : !request.has_minimum() && !request.has_maximum())
    return absl::InvalidArgumentError("ScaleFleet needs a minimum, a maximum or both, or reset alone");
  FleetRow row = *fleet.row;
  if (request.reset()) row.minimum = row.maximum = std::nullopt;
  if (request.has_minimum()) row.minimum = request.minimum();
  if (request.has_maximum()) row.maximum = request.maximum();
  Fleet changed;
  changed.row = row;
  RETURN_IF_ERROR(ApplyFleetRow(changed));
  RETURN_IF_ERROR(CheckFleetConfig(changed.config));
  fleet.row = std::move(row);
  RETURN_IF_ERROR(StoreFleet(context));
  v1::ScaleFleetResponse response;
  response.set_minimum(fleet.config.minimum());
  response.set_maximum(fleet.config.maximum());
  return response;
}

absl::StatusOr<v1::StopFleetResponse> StopFleet(FleetContext& context, const v1::StopFleetRequest& request) {
  Fleet& fleet = context.fleet;
  if (!fleet.row) return NoFleet();
  if (request.resume() && request.now())
    return absl::InvalidArgumentError("StopFleet: resume and now exclude each other; give one of the two");
  v1::StopFleetResponse response;
  response.set_changed(fleet.row->stopped == request.resume());
  fleet.row->stopped = !request.resume();
  RETURN_IF_ERROR(StoreFleet(context));
  for (const auto& [id, job] : fleet.jobs) {
    const bool queued = job.phase == EngineJob::Phase::kQueued;
    queued ? response.set_queued(response.queued() + 1) : response.set_running(response.running() + 1);
  }
  return response;
}

}  // namespace inlier
