#include "coordinator/status/status.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "coordinator/scheduling/gather.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/sweeps/sweep_expander.h"
#include "coordinator/status/work.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::uint32_t kSweepsAPage = 100;
constexpr std::uint32_t kWorkersAPage = 1000;
constexpr std::size_t kSearchedTextMax = 200;
// A page of a search ends above so many bytes of notes.
constexpr std::size_t kNoteBytesAPage = 16 << 20;
// A page of workers ends above it: any client takes a message of this size.
constexpr std::size_t kWorkersBytesAPage = 2 << 20;

// The running attempts of the sweep, and their part of its work.
UnderWay DescribeRunning(const State& state, SweepId id, v1::SweepUpdate& update) {
  UnderWay under_way;
  for (const auto& [token, attempt] : state.attempts) {
    const Stage& stage = state.stages.at(attempt.stage);
    const std::optional<TrialId> first_trial = stage.FirstDependentOf(id);
    if (!first_trial) continue;
    const Trial& trial = state.trials.at(*first_trial);
    v1::RunningAttempt& running = *update.add_running();
    running.set_stage_id(stage.id.ToString());
    running.set_kind(stage.kind);
    running.set_trial_id(trial.id.ToString());
    const WorkerEntry* worker = state.workers.Find(attempt.worker);
    running.set_worker(worker != nullptr && !worker->name.empty() ? worker->name : attempt.worker);
    *running.mutable_progress() = attempt.progress;
    for (const auto& [axis, label] : LabelsFromJson(std::string(trial.labels_json)))
      (*running.mutable_labels())[axis] = label;
    running.set_attempt(attempt.assignment.attempt());
    for (const LatestPoint& point : attempt.latest.all()) {
      v1::MeasurementPoint& shown = *running.add_latest();
      shown.set_name(std::string(point.info->name));
      shown.set_step(point.step);
      shown.set_value(point.value);
    }
    under_way.Add(stage, attempt);
  }
  for (const StageId waiting : state.interrupted) {
    const Stage& stage = state.stages.at(waiting);
    if (stage.IsNeededBy(id)) under_way.AddInterrupted(stage);
  }
  return under_way;
}

v1::WorkerStatus StatusOfWorker(const State& state, const WorkerEntry& worker) {
  v1::WorkerStatus status;
  status.set_incarnation(worker.incarnation);
  status.set_name(worker.name);
  status.set_host(worker.host);
  status.set_slots(static_cast<std::uint32_t>(worker.slots.size()));
  status.set_busy(SlotsLeased(state, worker));
  status.set_draining(worker.unavailable.draining || worker.unavailable.held);
  if (worker.unavailable.held) status.set_held(true);
  status.set_connected(worker.connected);
  status.set_last_seen_unix_ms(worker.seen.wall.unix_ms);
  for (const v1::Slot& slot : worker.slots) status.add_devices(slot.device());
  status.set_version(worker.version);
  if (worker.unavailable.outdated) status.set_outdated(true);
  if (!worker.unavailable.trouble.empty()) status.set_trouble(worker.unavailable.trouble);
  *status.mutable_gpus() = {worker.gpus.begin(), worker.gpus.end()};
  if (worker.machine.has_device()) *status.mutable_machine() = worker.machine;
  ForEachFeature(&Feature::describe_worker, worker, status);
  return status;
}

bool IsListed(const Sweep& sweep, const v1::ListSweepsRequest& request) {
  const SweepOrder& order = sweep.order;
  if (request.active() && sweep.state != v1::ACTIVE) return false;
  if (request.removed() != order.removed.has_value() || order.freed) return false;
  if (order.archived && !request.all() && !request.removed()) return false;
  if (request.has_owner() && request.owner() != sweep.owner) return false;
  for (const std::string& tag : request.tags()) {
    if (!std::ranges::binary_search(order.tags, tag)) return false;
  }
  if (request.text().empty()) return true;
  const auto has = [&wanted = request.text()](const std::string& text) {
    return !std::ranges::search(text, wanted, {}, absl::ascii_tolower, absl::ascii_tolower).empty();
  };
  return has(sweep.spec.name()) || has(order.note) || std::ranges::any_of(order.tags, has);
}

}  // namespace

bool IsOver(const State& state, SweepId id) {
  const Sweep& sweep = state.sweeps.at(id);
  return sweep.state != v1::ACTIVE && sweep.Open() == 0;
}

v1::TrialCounts TrialsByState(const Sweep& sweep) {
  const std::uint64_t not_made = sweep.Total() - std::min<std::uint64_t>(sweep.Total(), sweep.trials.size());
  const bool active = sweep.state == v1::ACTIVE;
  v1::TrialCounts trials;
  trials.set_pending(sweep.Count(v1::PENDING) + (active ? not_made : 0));
  trials.set_running(sweep.Count(v1::RUNNING));
  trials.set_succeeded(sweep.Count(v1::SUCCEEDED));
  trials.set_diverged(sweep.Count(v1::DIVERGED));
  trials.set_failed(sweep.Count(v1::FAILED));
  trials.set_cancelled(sweep.Count(v1::CANCELLED) + (active ? 0 : not_made));
  return trials;
}

v1::SweepStatus StatusOf(const State& state, SweepId id, Timestamp now, bool with_spec) {
  const Sweep& sweep = state.sweeps.at(id);
  v1::SweepStatus status;
  status.set_sweep_id(id.ToString());
  status.set_name(sweep.spec.name());
  status.set_state(sweep.state);
  const bool active = sweep.state == v1::ACTIVE;
  v1::TrialCounts& trials = *status.mutable_trials();
  trials = TrialsByState(sweep);
  if (sweep.known > 0) trials.set_known(sweep.known);
  std::uint64_t pruned = 0;
  for (const auto& [stage, count] : sweep.pruning.pruned) pruned += count;
  trials.set_pruned(pruned - sweep.pruning.withdrawn);
  std::uint64_t running[2] = {0, 0};
  for (const auto& [token, attempt] : state.attempts) {
    const Stage& stage = state.stages.at(attempt.stage);
    if (stage.IsNeededBy(id)) ++running[stage.kind == v1::TRAIN_STAGE ? 0 : 1];
  }
  const auto fill = [](const StageTally& tally, std::uint64_t running_now, v1::StageCounts& counts) {
    counts.set_total(tally.total);
    counts.set_ended(tally.done);
    counts.set_running(running_now);
  };
  fill(sweep.train, running[0], *status.mutable_train_stages());
  fill(sweep.evaluate, running[1], *status.mutable_evaluate_stages());
  status.set_paused(sweep.paused);
  status.set_revision(sweep.revision);
  if (sweep.withdrawn > 0) status.set_withdrawn(sweep.withdrawn);
  if (!sweep.owner.empty()) status.set_owner(sweep.owner);
  ForEachFeature(&Feature::describe_sweep, sweep, now, status);
  status.set_submitted_unix_ms(sweep.submission.at.unix_ms);
  if (sweep.ended) status.set_ended_unix_ms(sweep.ended->unix_ms);
  if (active && !sweep.paused && state.workers.connected() == 0 && sweep.Open() > 0 &&
      !state.jobs.workers_come)
    status.add_warnings("no worker is connected: nothing can run until one registers");
  if (active && sweep.request != ResourceRequest()) {
    if (const std::string never = WhyNowhere(state, sweep.request); !never.empty())
      status.add_warnings(never);
  }
  if (sweep.order.archived) status.set_archived(true);
  *status.mutable_tags() = {sweep.order.tags.begin(), sweep.order.tags.end()};
  if (sweep.order.removed) status.set_removed_unix_ms(sweep.order.removed->unix_ms);
  if (!with_spec) return status;
  if (!sweep.order.note.empty()) status.set_note(sweep.order.note);
  *status.mutable_spec() = sweep.spec;
  return status;
}

v1::SweepUpdate DescribeSweep(const State& state, SweepId id, Moment now, std::uint64_t sequence) {
  const Sweep& sweep = state.sweeps.at(id);
  v1::SweepUpdate update;
  *update.mutable_status() = StatusOf(state, id, now.at, /*with_spec=*/false);
  const SweepWork work = WorkOf(state, sweep, DescribeRunning(state, id, update));
  update.set_work_done(work.done);
  if (work.seconds_left) update.set_seconds_left(*work.seconds_left);
  const std::uint64_t forgotten = sweep.notice_log.Forgotten();
  for (std::uint64_t number = std::max(sequence, forgotten) + 1; number <= sweep.notice_log.last; ++number) {
    update.add_notices(sweep.notice_log.latest[number - forgotten - 1]);
  }
  update.set_sequence(sweep.notice_log.last);
  return update;
}

absl::StatusOr<v1::ListSweepsResponse> ListSweeps(const State& state, const v1::ListSweepsRequest& request,
                                                  Timestamp now) {
  const std::optional<SweepId> before = SweepId::Parse(request.page_token());
  if (!request.page_token().empty() && !before)
    return absl::InvalidArgumentError("page_token: not one of an earlier page of sweeps; start without one");
  if (request.page_size() == 0) return absl::InvalidArgumentError("page_size: must be at least 1");
  if (request.text().size() > kSearchedTextMax)
    return absl::InvalidArgumentError(
        absl::StrCat("text: has more than ", kSearchedTextMax, " bytes; search for less"));
  const std::size_t most = std::min(request.page_size(), kSweepsAPage);
  const SweepId end = before.value_or(SweepId());
  std::vector<SweepId> ids;    // One more than fit: then there is another page.
  std::size_t note_bytes = 0;  // That were searched.
  SweepId id = end && end < state.sweeps.NextId() ? end : state.sweeps.NextId();
  while (id > SweepId(1) && ids.size() <= most && note_bytes <= kNoteBytesAPage) {
    id = SweepId(id.value() - 1);
    const Sweep& sweep = state.sweeps.at(id);
    if (IsListed(sweep, request)) ids.push_back(id);
    if (!request.text().empty()) note_bytes += sweep.order.note.size();
  }
  v1::ListSweepsResponse response;
  if (ids.size() > most) {
    ids.pop_back();
    response.set_next_page_token(ids.back().ToString());
  } else if (id > SweepId(1)) {
    response.set_next_page_token(id.ToString());
  }
  for (const SweepId id : ids) *response.add_sweeps() = StatusOf(state, id, now, /*with_spec=*/false);
  return response;
}

v1::ListWorkersResponse ListWorkers(const State& state, const v1::ListWorkersRequest& request) {
  v1::ListWorkersResponse response;
  const std::map<std::string, WorkerEntry>& all = state.workers.all();
  const std::uint32_t most = std::clamp(request.page_size(), 1u, kWorkersAPage);
  std::size_t bytes = 0;
  const auto first = request.page_token().empty() ? all.begin() : all.upper_bound(request.page_token());
  for (auto at = first; at != all.end(); ++at) {
    if (request.connected() && !at->second.connected) continue;
    if (static_cast<std::uint32_t>(response.workers_size()) >= most || bytes >= kWorkersBytesAPage) {
      response.set_next_page_token(response.workers(response.workers_size() - 1).incarnation());
      break;
    }
    v1::WorkerStatus& status = *response.add_workers();
    status = StatusOfWorker(state, at->second);
    bytes += status.ByteSizeLong();
  }
  return response;
}

std::map<SweepId, TrialId> UnplaceableSweeps(const State& state) {
  std::map<ResourceRequest, bool> known;  // Sweeps need a few different things.
  const auto can_run = [&](const ResourceRequest& request) {
    const auto [at, is_new] = known.try_emplace(request);
    const auto& workers = state.workers.all();
    if (is_new)
      at->second =
          std::ranges::any_of(workers, [&](const auto& entry) { return CouldRun(entry.second, request); });
    return at->second;
  };
  std::map<SweepId, TrialId> found;
  for (const SweepId id : state.active) {
    const Sweep& sweep = state.sweeps.at(id);
    if (sweep.paused) continue;
    if (sweep.bound.waits_for && !can_run(sweep.request)) found[id] = TrialId();
    for (const auto& [request, count] : state.ready.ReadyRequests(id)) {
      if (can_run(request)) continue;
      const Stage& first = state.stages.at(state.ready.ReadyWith(id, request).front());
      found[id] = first.FirstDependentOf(id).value_or(TrialId());
      break;
    }
  }
  return found;
}

}  // namespace inlier
