// People: stopping, resuming and scaling the fleet.
#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/simulation/people.h"

namespace inlier {

void People::ActOnFleet() {
  const int which = world_.random().Below(10);
  if (which < 4) return ScaleFleet();
  StopFleet(/*resume=*/which >= 7 || oracle_.fleet().stopped(), /*now=*/world_.random().PerMille(500));
}

void People::StopFleet(bool resume, bool now) {
  v1::StopFleetRequest request;
  request.set_request_id(SomeRequestId());
  request.set_resume(resume);
  request.set_now(now && !resume);
  world_.Note(absl::StrCat("people ", resume ? "resume" : "stop", " the fleet", request.now() ? " now" : ""));
  const auto decision = std::make_shared<std::uint64_t>(0);
  AskOnce<v1::StopFleetRequest, v1::StopFleetResponse>(
      request, Admin(), &Orchestrator::OnStopFleet,
      [this, resume, decision](const v1::StopFleetResponse&) {
        *decision = oracle_.fleet().StopDecided(!resume);
      },
      [this, resume, decision](const v1::StopFleetResponse&) {
        oracle_.fleet().StopAnswered(!resume, *decision);
      });
}

void People::ScaleFleet() {
  const v1::FleetConfig& config = world_.plan().fleet->config;
  v1::ScaleFleetRequest request;
  request.set_request_id(SomeRequestId());
  const auto below = [this](std::uint32_t n) {
    return static_cast<std::uint32_t>(world_.random().Below(static_cast<int>(n)));
  };
  if (world_.random().PerMille(300)) {
    request.set_reset(true);
  } else {
    request.set_maximum(1 + below(config.maximum() + 1));
    request.set_minimum(below(2));
  }
  world_.Note(absl::StrCat("people scale the fleet: ", request.ShortDebugString()));
  AskOnce<v1::ScaleFleetRequest, v1::ScaleFleetResponse>(
      request, Admin(), &Orchestrator::OnScaleFleet,
      [this](const v1::ScaleFleetResponse& response) { oracle_.fleet().ScaleDecided(response.minimum()); },
      nullptr);
}

}  // namespace inlier
