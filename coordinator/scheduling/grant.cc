#include "coordinator/scheduling/grant.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/time.h"
#include "coordinator/scheduling/gather.h"
#include "coordinator/scheduling/live_attempts.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/state/transitions.h"

namespace inlier {
void Grant(Context& context, WorkerEntry& worker, ReadyQueue::Pick pick) {
  State& state = context.state;
  Stage& stage = state.stages.at(pick.stage);
  INLIER_CHECK(stage.live() == 0 && IsReady(state, stage));
  INLIER_CHECK(state.ready.RoomOf(pick.sweep) > 0);
  INLIER_CHECK(!state.sweeps.at(pick.sweep).paused);
  const Token token = state.next_token++;
  ++stage.attempts;
  context.out.lease_wait_seconds.push_back(
      ToSeconds(context.now.at - state.ready.ReadySince(pick.sweep, pick.stage)));

  Attempt made;
  made.token = token;
  made.stage = stage.id;
  made.sweep = pick.sweep;
  made.trial = stage.FirstDependentOf(pick.sweep).value();
  made.worker = worker.incarnation;
  made.request = RequestFor(state, state.sweeps.at(pick.sweep), stage);
  const std::vector<std::uint32_t> slots = SlotsFor(state, worker, made.request);
  INLIER_CHECK(!slots.empty());
  const std::uint32_t slot = slots.at(0);
  for (const std::uint32_t each : slots)
    made.gpu_thousandths += worker.resources.Charge(each, made.request).gpu_thousandths;
  made.request.data_source = made.request.data = DataId();
  made.request.seconds = 0;
  worker.leased = context.now.at;
  made.times.started = made.times.began = made.times.progressed = made.times.saved = context.now.at;
  made.times.leased = context.now.wall;
  stage.edit().spec = PackedSpec(stage.detail().spec);
  if (stage.kind == v1::EVALUATE_STAGE) {
    Stage& train = state.stages.at(stage.train);
    train.edit().spec = PackedSpec(train.detail().spec);
  }
  SetAssignment(state, stage, slots, stage.attempts, made);
  if (!std::exchange(worker.used, true)) CommitWorker(context, worker);
  const Attempt& attempt = BeginAttempt(context, std::move(made), slots, context.now.at);
  context.out.workers.insert(worker.incarnation);
  context.out.changes.Add(AttemptRow{.token = token,
                                     .stage = stage.id,
                                     .number = stage.attempts,
                                     .worker = worker.incarnation,
                                     .slot = slot,
                                     .further_slots = {slots.begin() + 1, slots.end()},
                                     .resume_step = attempt.assignment.resume_step(),
                                     .started_at = attempt.times.leased,
                                     .sweep = pick.sweep,
                                     .request = attempt.request,
                                     .gpu_share_thousandths = attempt.gpu_thousandths});
  SetStageState(state, stage, v1::RUNNING);
  RefreshReadiness(context, stage);
  UpdateTrialsOf(context, stage);
  Touch(state, stage);
  ++state.stats.attempts_started[KindIndex(stage.kind)];
  context.Log("lease_granted trial=", attempt.trial.ToString(), " stage=", stage.id.ToString(),
              " kind=", KindName(stage.kind), " attempt=", stage.attempts, " token=", token,
              " worker=", worker.name, slots.size() == 1 ? " slot=" : " slots=", absl::StrJoin(slots, ","),
              " resume_step=", attempt.assignment.resume_step());
}

void FillSlots(Context& context, WorkerEntry& worker) {
  State& state = context.state;
  if (worker.unavailable.Any()) return;
  while (!state.ready.Idle() && FreeSlot(state, worker)) {
    GatherForGang(state);
    const std::optional<ReadyQueue::Pick> pick = state.ready.Next(
        worker.number,
        [&](const ResourceRequest& request) { return !SlotsFor(state, worker, request).empty(); });
    if (!pick) return;
    Grant(context, worker, *pick);
  }
}

void SetAssignment(const State& state, const Stage& stage, const std::vector<std::uint32_t>& slots,
                   std::uint32_t number, Attempt& attempt) {
  v1::Assignment& assignment = attempt.assignment;
  assignment.set_token(attempt.token);
  assignment.set_stage_id(stage.id.ToString());
  assignment.set_kind(stage.kind);
  assignment.set_attempt(number);
  assignment.set_slot(slots.at(0));
  assignment.mutable_further_slots()->Assign(slots.begin() + 1, slots.end());
  if (slots.size() > 1)
    assignment.set_shard_optimizer(state.sweeps.at(attempt.sweep).spec.resources().shard_optimizer());
  const StageId source = stage.kind == v1::EVALUATE_STAGE ? stage.train : stage.start;
  if (const auto trained = state.models.trained.find(source); trained != state.models.trained.end())
    assignment.set_checkpoint_sha256(HexOf(trained->second.checkpoint));
  const std::vector<ResumePoint>& points = stage.detail().resume_points;
  if (points.empty()) return;
  assignment.set_resume_path(points[0].path);
  assignment.set_resume_step(points[0].step);
  if (!points[0].sha256.empty()) assignment.set_resume_sha256(points[0].sha256);
  for (auto point = points.begin() + 1; point != points.end(); ++point) {
    v1::EarlierCheckpoint& earlier = *assignment.add_earlier();
    earlier.set_path(point->path);
    if (!point->sha256.empty()) earlier.set_sha256(point->sha256);
  }
}

}  // namespace inlier
