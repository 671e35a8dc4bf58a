// People: pausing and resuming sweeps, editing them while they run, removing and freeing them, and draining workers.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/search/search.h"
#include "coordinator/state/lookup.h"
#include "coordinator/status/status.h"
#include "inlier/v1/artifact_service.pb.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/simulation/people.h"

namespace inlier {
namespace {

// Another specification than `spec`, as a person may think of it; it need not be a sound one.
void Alter(Random& random, v1::SweepSpec& spec) {
  const int axis = random.Below(2);  // Seeds, or bits.
  auto& values = *spec.mutable_axes(axis)->mutable_values();
  switch (random.Below(8)) {
    case 0: {  // One more, in front or behind.
      google::protobuf::Value value;
      value.set_number_value(axis == 0 ? 1 + random.Below(4) : 4 + random.Below(6));
      for (const google::protobuf::Value& other : values) {
        if (other.number_value() == value.number_value()) return;
      }
      *values.Add() = std::move(value);
      if (random.PerMille(500)) std::rotate(values.begin(), values.end() - 1, values.end());
      break;
    }
    case 1:  // One less.
    case 2:
      if (values.size() > 1) values.erase(values.begin() + random.Below(values.size()));
      break;
    case 3:
      std::reverse(values.begin(), values.end());
      break;
    case 4:
      spec.mutable_axes()->SwapElements(0, 1);
      break;
    case 5:
      spec.set_priority(random.Below(3));
      if (random.PerMille(500)) {
        spec.set_max_parallel(1 + static_cast<std::uint32_t>(random.Below(2)));
      } else {
        spec.clear_max_parallel();
      }
      break;
    case 6:
      spec.mutable_retry()->set_max_losses(1 + static_cast<std::uint32_t>(random.Below(3)));
      spec.mutable_retry()->set_max_crashes(1 + static_cast<std::uint32_t>(random.Below(3)));
      break;
    case 7:
      if (random.PerMille(300)) {
        spec.clear_limits();
      } else {
        spec.mutable_limits()->set_attempt_hours((5 + random.Below(60)) / 3600.0);
        spec.mutable_limits()->set_sweep_hours((30 + random.Below(600)) / 3600.0);
      }
      break;
  }
}

}  // namespace

void People::Pause() {
  v1::PauseSweepRequest request;
  request.set_sweep(SomeSweep());
  if (request.sweep().empty()) return;
  request.set_request_id(SomeRequestId());
  request.set_now(world_.random().PerMille(500));
  world_.Note(absl::StrCat("people pause ", request.sweep(), request.now() ? " now" : ""));
  const auto decision = std::make_shared<std::uint64_t>(0);
  AskOnce<v1::PauseSweepRequest, v1::PauseSweepResponse>(
      request, SomebodyFor(request.sweep()), &inlier::PauseSweep,
      [this, request, decision](const v1::PauseSweepResponse&) {
        *decision = oracle_.PauseDecided(request.sweep(), true);
      },
      [this, request, decision](const v1::PauseSweepResponse&) {
        oracle_.PauseAnswered(request.sweep(), true, *decision);
      });
}

void People::Resume() {
  const std::string sweep = SomeSweep();
  if (!sweep.empty()) ResumeSweep(sweep, SomebodyFor(sweep));
}

void People::ResumeSweep(const std::string& sweep, const Caller& caller) {
  v1::ResumeSweepRequest request;
  request.set_sweep(sweep);
  request.set_request_id(SomeRequestId());
  world_.Note(absl::StrCat("people resume ", sweep));
  const auto decision = std::make_shared<std::uint64_t>(0);
  AskOnce<v1::ResumeSweepRequest, v1::ResumeSweepResponse>(
      request, caller, &inlier::ResumeSweep,
      [this, sweep, decision](const v1::ResumeSweepResponse&) {
        *decision = oracle_.PauseDecided(sweep, false);
      },
      [this, sweep, decision](const v1::ResumeSweepResponse&) {
        oracle_.PauseAnswered(sweep, false, *decision);
      });
}

void People::Edit() {
  const std::string id = SomeSweep();
  if (id.empty() || !coordinator_.up()) return;
  const Orchestrator& orchestrator = coordinator_.orchestrator();
  const v1::SweepStatus seen =
      StatusOf(orchestrator.state(), *SweepId::Parse(id), world_.now(), /*with_spec=*/true);
  v1::EditSweepRequest request;
  request.set_sweep(id);
  *request.mutable_spec() = seen.spec();
  const int changes = 1 + world_.random().Below(2);
  for (int i = 0; i < changes; ++i) Alter(world_.random(), *request.mutable_spec());
  if (!CheckedGrid(request.spec()).ok()) return;  // The service does not let it in.
  if (const std::string request_id = SomeRequestId(800); !request_id.empty())
    request.set_request_id(request_id);
  // One without an id that comes twice must name the revision it was made from.
  if (!request.has_request_id() || world_.random().PerMille(500)) request.set_revision(seen.revision());
  world_.Note(absl::StrCat("people edit ", id, " at revision ", seen.revision()));
  AskOnce<v1::EditSweepRequest, v1::EditSweepResponse>(
      request, SomebodyFor(id), &inlier::EditSweep,
      [this, request](const v1::EditSweepResponse& response) { oracle_.EditDecided(request, response); },
      [this, request](const v1::EditSweepResponse& response) { oracle_.EditAnswered(request, response); });
}

namespace {

// A point that a sampler may ask for.
v1::SearchPoint SomePoint(Random& random, const v1::Search& search, std::uint32_t asked) {
  v1::SearchPoint point;
  auto& values = *point.mutable_values()->mutable_fields();
  for (const v1::SearchAxis& axis : search.axes()) {
    if (axis.has_range()) {
      values[axis.name()].set_number_value(1 + random.Below(3));  // Some come twice.
    } else {
      values[axis.name()].set_string_value(axis.labels(random.Below(axis.labels_size())));
    }
  }
  if (asked > 0) point.add_told(static_cast<std::uint32_t>(random.Below(static_cast<int>(asked))));
  return point;
}

}  // namespace

void People::Extend() {
  const std::string sweep = SomeSweep();
  if (!sweep.empty()) ExtendSweep(sweep, SomebodyFor(sweep));
}

void People::ExtendSweep(const std::string& sweep, const Caller& caller) {
  if (!coordinator_.up()) return;
  v1::GetSearchRequest read;
  read.set_sweep(sweep);
  const auto search = GetSearch(coordinator_.orchestrator().state(), read, caller.name);
  if (!search.ok() || search->asked() >= search->sampling().trials()) return;
  v1::ExtendSweepRequest request;
  request.set_sweep(sweep);
  const bool late = search->asked() > 0 && world_.random().PerMille(150);  // Another sampler was faster.
  request.set_first(search->asked() - (late ? 1 : 0));
  const std::uint32_t points =
      search->asked() + 1 < search->sampling().trials() && world_.random().PerMille(300) ? 2 : 1;
  for (std::uint32_t i = 0; i < points; ++i)
    *request.add_points() = SomePoint(world_.random(), *search, search->asked() + i);
  if (const std::string id = SomeRequestId(600); !id.empty()) request.set_request_id(id);
  world_.Note(absl::StrCat("people extend ", sweep, " from ", request.first()));
  AskOnce<v1::ExtendSweepRequest, v1::ExtendSweepResponse>(
      request, caller, &inlier::ExtendSweep,
      [this, request](const v1::ExtendSweepResponse& response) { oracle_.ExtendDecided(request, response); },
      [this, request](const v1::ExtendSweepResponse&) { oracle_.ExtendAnswered(request); });
}

void People::Drain() {
  const std::vector<std::string> workers = oracle_.worker_ids();
  if (workers.empty()) return;
  // Some have gone.
  const int latest = std::min(static_cast<int>(workers.size()), 4);
  const std::string& worker =
      workers[workers.size() - 1 - static_cast<std::size_t>(world_.random().Below(latest))];
  Hold(worker, world_.random().PerMille(400), world_.random().PerMille(400));
}

void People::Hold(const std::string& worker, bool resume, bool now) {
  v1::DrainWorkerRequest request;
  request.set_worker(worker);
  request.set_request_id(SomeRequestId());
  request.set_resume(resume);
  request.set_now(now && !resume);
  world_.Note(absl::StrCat("people ", resume ? "resume " : "drain ", worker, request.now() ? " now" : ""));
  const auto decision = std::make_shared<std::uint64_t>(0);
  AskOnce<v1::DrainWorkerRequest, v1::DrainWorkerResponse>(
      request, Admin(), &inlier::DrainWorker,
      [this, worker, resume, decision](const v1::DrainWorkerResponse&) {
        *decision = oracle_.HoldDecided(worker, !resume);
      },
      [this, worker, resume, decision](const v1::DrainWorkerResponse&) {
        oracle_.HoldAnswered(worker, !resume, *decision);
      });
}

void People::Remove() {
  v1::RemoveSweepRequest request;
  request.set_sweep(SomeSweep());
  if (request.sweep().empty()) return;
  request.set_request_id(SomeRequestId());
  request.set_cancel(world_.random().PerMille(500));
  world_.Note(absl::StrCat("people remove ", request.sweep(), request.cancel() ? " and cancel" : ""));
  AskOnce<v1::RemoveSweepRequest, v1::RemoveSweepResponse>(
      request, SomebodyFor(request.sweep()), &inlier::RemoveSweep,
      [this, request](const v1::RemoveSweepResponse&) { oracle_.RemovalDecided(request.sweep(), true); },
      nullptr);
}

void People::Restore() {
  v1::RestoreSweepRequest request;
  request.set_sweep(SomeSweep());
  if (request.sweep().empty()) return;
  request.set_request_id(SomeRequestId());
  world_.Note(absl::StrCat("people restore ", request.sweep()));
  AskOnce<v1::RestoreSweepRequest, v1::RestoreSweepResponse>(
      request, SomebodyFor(request.sweep()), &inlier::RestoreSweep,
      [this, request](const v1::RestoreSweepResponse&) { oracle_.RemovalDecided(request.sweep(), false); },
      nullptr);
}

// As the collection does; some models go by a rule.
void People::Free() {
  std::vector<StageId> models;
  for (const std::int64_t id : oracle_.stage_ids()) {
    if (world_.random().PerMille(200)) models.push_back(StageId(id));
  }
  world_.Note("people free what was removed");
  Ask<v1::CollectResponse>(
      [this, models](CoordinatorProcess::Reply<v1::CollectResponse> reply) {
        coordinator_.Decide<v1::CollectResponse>(
            [&](Orchestrator& o, Moment now, Effects& effects) {
              const Freed freed = o.OnFree(models, now, effects);
              world_.Count("sweeps freed", freed.sweeps.size());
              world_.Count("stages freed", freed.stages.size());
              world_.Count("models let go", freed.models.size());
              v1::CollectResponse response;
              response.set_models(freed.models.size());
              return absl::StatusOr<v1::CollectResponse>(response);
            },
            std::move(reply));
      },
      [](const v1::CollectResponse&) {});
}

void People::LetGo(const std::vector<std::string>& workers) {
  for (const std::string& sweep : oracle_.PausedSweeps()) ResumeSweep(sweep, Admin());
  for (const auto& [id, sweep] : oracle_.sweeps()) {
    if (sweep.state == "ACTIVE") ExtendSweep(SweepId(id).ToString(), Admin());
  }
  for (const std::string& worker : workers) {
    if (oracle_.IsHeld(worker)) Hold(worker, /*resume=*/true, /*now=*/false);
  }
}

}  // namespace inlier
