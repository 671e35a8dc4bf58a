#include "coordinator/sweeps/no_worker.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/data/data_check.h"
#include "coordinator/scheduling/gather.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/status/explain.h"
#include "coordinator/store/hook_key.h"
#include "coordinator/sweeps/notification.h"

namespace inlier {
namespace {

constexpr Duration kShortestPeriod = std::chrono::milliseconds(100);
constexpr Duration kLongestPeriod = std::chrono::seconds(15);
constexpr int kSentAtOnce = 20;  // The others after the shortest period: no call waits long.

Duration PeriodOf(const State& state) {
  return std::clamp<Duration>(state.options.hooks.no_worker / 10, kShortestPeriod, kLongestPeriod);
}

bool CanRun(const State& state, const WorkerEntry& worker, const ResourceRequest& request) {
  if (!worker.connected || !worker.TakesWork()) return false;
  if (request.processes > 1) return CouldGather(worker, request);
  return std::any_of(worker.slots.begin(), worker.slots.end(), [&](const v1::Slot& slot) {
    return !IsBlocked(worker, slot.index()) && worker.resources.CouldFit(slot.index(), request);
  });
}

// Of one look at all sweeps: a request is compared with the workers once.
class Workers {
 public:
  explicit Workers(const State& state) : state_(state) {}

  bool CanRun(const ResourceRequest& request) {
    const auto [at, is_new] = known_.try_emplace(request);
    if (is_new) {
      const auto& all = state_.workers.all();
      at->second = std::any_of(all.begin(), all.end(), [&](const auto& entry) {
        return inlier::CanRun(state_, entry.second, request);
      });
    }
    return at->second;
  }

 private:
  const State& state_;
  std::map<ResourceRequest, bool> known_;
};

// A request of trials that wait and that no worker can run.
std::optional<ResourceRequest> Unplaceable(const State& state, const Sweep& sweep, Workers& workers) {
  if (sweep.paused) return std::nullopt;
  for (const auto& [request, stages] : state.ready.ReadyRequests(sweep.id)) {
    if (!workers.CanRun(request)) return request;
  }
  if (sweep.waits_for_data && !workers.CanRun(sweep.request)) return sweep.request;
  return std::nullopt;
}

// The causes at the ends of an explanation.
void AppendCauses(const v1::Explanation& node, std::string& text) {
  for (const v1::Explanation& cause : node.because()) AppendCauses(cause, text);
  if (node.because_size() == 0) absl::StrAppend(&text, text.empty() ? "" : "; ", node.text());
}

void NotifyNoWorker(Context& context, const Sweep& sweep, const ResourceRequest& request, Duration waited) {
  State& state = context.state;
  TrialId trial;
  std::string reason;
  if (const auto stages = state.ready.ReadyWith(sweep.id, request); !stages.empty()) {
    trial = state.stages.at(stages.front()).FirstDependentOf(sweep.id).value_or(TrialId());
    v1::ExplainRequest why;
    why.set_trial(trial.ToString());
    if (const auto explained = Explain(state, why, context.now); explained.ok())
      AppendCauses(*explained, reason);
  } else if (sweep.waits_for_data) {
    reason = WhyWaitsForData(state, sweep);
  }
  NotificationContent content{.text = absl::StrCat("no worker can run trials of sweep ", sweep.spec.name(),
                                                   " (", sweep.id.ToString(), "), for ",
                                                   FormatDuration(waited), ": ", reason)};
  content.fields = {{"reason", reason}, {"waited_seconds", static_cast<std::int64_t>(ToSeconds(waited))}};
  if (trial) content.fields["trial"] = trial.ToString();
  for (NotificationRow& row : NotificationsOf(context, kNoWorkerEvent, sweep, trial, content)) {
    row.lasts = true;
    context.out.changes.Add(std::move(row));
  }
}

}  // namespace

void CheckNoWorker(Context& context) {
  State& state = context.state;
  NotificationTable& table = state.notifications;
  const std::optional<Timestamp> due = NoWorkerCheckDue(state);
  if (!due || *due > context.now.at) return;
  table.no_worker_checked = context.now.at;
  int sent = 0;
  Workers workers(state);
  std::map<SweepId, NotificationTable::NoWorker> waiting;
  for (const SweepId id : state.active) {
    const Sweep& sweep = state.sweeps.at(id);
    const std::optional<ResourceRequest> request = Unplaceable(state, sweep, workers);
    if (!request) continue;
    const auto before = table.no_worker.extract(id);
    NotificationTable::NoWorker& entry = waiting[id];
    entry = before.empty() ? NotificationTable::NoWorker{.since = context.now.at} : before.mapped();
    const Duration waited = context.now.at - entry.since;
    if (entry.sent || waited < state.options.hooks.no_worker) continue;
    if (sent++ == kSentAtOnce) table.no_worker_checked = context.now.at - PeriodOf(state) + kShortestPeriod;
    if (sent > kSentAtOnce) continue;
    NotifyNoWorker(context, sweep, *request, waited);
    entry.sent = true;
  }
  for (const auto& [id, entry] : table.no_worker) {
    if (entry.sent) context.out.changes.Add(ConditionEnded{.sweep = id});
  }
  table.no_worker = std::move(waiting);
}

std::optional<Timestamp> NoWorkerCheckDue(const State& state) {
  const NotificationTable& table = state.notifications;
  if (!state.options.hooks.Has(kNoWorkerEvent) || (state.active.empty() && table.no_worker.empty()))
    return std::nullopt;
  return table.no_worker_checked + PeriodOf(state);
}

}  // namespace inlier
