#include "coordinator/metrics/live_metrics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "coordinator/state/sweeps/sweep_expander.h"
#include "coordinator/status/status.h"
#include "coordinator/status/work.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::size_t kPointBytesMax = 200;

using Series = std::map<std::string, std::vector<GaugeSample>>;

// Merges values of the same measurement and setting.
std::vector<SweepValue> Merged(std::vector<SweepValue> values, const std::vector<SweepValue>& stored) {
  for (const SweepValue& of : stored) {
    const auto at = std::ranges::find_if(values, [&of](const SweepValue& value) {
      return value.name == of.name && value.setting == of.setting;
    });
    if (at == values.end())
      values.push_back(of);
    else
      at->best = BetterOf(of.better, at->best, of.best);
  }
  return values;
}

void AddSweep(const Sweep& sweep, const SweepWork& work, const std::vector<SweepValue>& values,
              Series& series) {
  const std::vector<std::string> labels = {sweep.id.ToString(), sweep.spec.name()};
  const auto add = [&](const char* family, double value, std::vector<std::string> more = {}) {
    more.insert(more.begin(), labels.begin(), labels.end());
    series[family].push_back({std::move(more), value});
  };
  const v1::TrialCounts trials = TrialsByState(sweep);
  for (const auto& [state, count] : {std::pair(v1::PENDING, trials.pending()),
                                     {v1::RUNNING, trials.running()},
                                     {v1::SUCCEEDED, trials.succeeded()},
                                     {v1::DIVERGED, trials.diverged()},
                                     {v1::FAILED, trials.failed()},
                                     {v1::CANCELLED, trials.cancelled()}})
    add("inlier_sweep_trials", static_cast<double>(count), {v1::TrialState_Name(state)});
  add("inlier_sweep_paused", sweep.paused ? 1 : 0);
  add("inlier_sweep_work_done_ratio", work.done);
  if (work.seconds_left) add("inlier_sweep_left_seconds", *work.seconds_left);
  for (const SweepValue& value : values) {
    const std::vector<std::string> of = {value.name, value.setting};
    add("inlier_sweep_best", value.best, of);
    if (value.latest) add("inlier_sweep_latest", *value.latest, of);
  }
}

void AddAttempt(const State& state, const Attempt& attempt, Series& series) {
  const Trial& trial = state.trials.at(attempt.trial);
  const WorkerEntry* const worker = state.workers.Find(attempt.worker);
  const std::string point = LabelsText(LabelsFromJson(std::string(trial.labels_json)));
  const std::vector<std::string> labels = {
      attempt.sweep.ToString(), attempt.trial.ToString(), KindLabel(attempt.assignment.kind()),
      worker != nullptr ? worker->name : attempt.worker, std::string(CutUtf8(point, kPointBytesMax))};
  const auto add = [&](const char* family, double value) { series[family].push_back({labels, value}); };
  const v1::Progress& progress = attempt.progress;
  add("inlier_attempt_step", static_cast<double>(progress.step()));
  if (progress.has_loss()) add("inlier_attempt_loss", progress.loss());
  if (progress.has_rate()) add("inlier_attempt_steps_per_second", progress.rate());
  for (const LatestPoint& latest : attempt.latest.all()) {
    if (!SweepValues::Has(*latest.info)) continue;
    GaugeSample sample{labels, latest.value};
    sample.labels.emplace_back(latest.info->name);
    series["inlier_attempt_latest"].push_back(std::move(sample));
  }
}

}  // namespace

std::string KindLabel(v1::StageKind kind) { return kind == v1::TRAIN_STAGE ? "TRAIN" : "EVALUATE"; }

std::vector<MetricSpec> LiveMetricTable() {
  const std::vector<std::string> sweep = {"sweep", "name"};
  const std::vector<std::string> attempt = {"sweep", "trial", "kind", "worker", "point"};
  const auto with = [](std::vector<std::string> labels, const std::vector<std::string>& more) {
    labels.insert(labels.end(), more.begin(), more.end());
    return labels;
  };
  const auto gauge = [](std::string name, std::string help, std::vector<std::string> labels) {
    return MetricSpec{std::move(name), MetricKind::kGauge, std::move(help), std::move(labels)};
  };
  const std::string attempts = absl::StrCat(" At most ", kAttemptsWithMetricsMax, " attempts, the latest.");
  return {
      gauge("inlier_sweep_trials",
            "Trials of an ACTIVE sweep by state, points of its grid without a trial as PENDING. "
            "inlier_sweep_* are of at most metrics_sweeps_max sweeps, the latest.",
            with(sweep, {"state"})),
      gauge("inlier_sweep_paused", "1 while the sweep is paused, else 0.", sweep),
      gauge("inlier_sweep_work_done_ratio", "The finished share of the sweep's work, 0 to 1.", sweep),
      gauge("inlier_sweep_left_seconds",
            "Estimated time to the end of the sweep; absent while it is not known.", sweep),
      gauge("inlier_sweep_best",
            "Best number of the sweep since it became active or the coordinator started. setting: FLOAT, or "
            "the bits of the quantized model: W8A8.",
            with(sweep, {"measurement", "setting"})),
      gauge("inlier_sweep_latest",
            "Latest number of the sweep since the coordinator started, of curves and of results.",
            with(sweep, {"measurement", "setting"})),
      gauge("inlier_attempt_step",
            "Step of a live attempt of these sweeps. point: the labels of its trial on the axes." + attempts,
            attempt),
      gauge("inlier_attempt_loss", "Loss that the attempt reported last.", attempt),
      gauge("inlier_attempt_steps_per_second", "Speed that the attempt reported last.", attempt),
      gauge("inlier_attempt_latest", "Latest point of the curve of a measurement.",
            with(attempt, {"measurement"})),
  };
}

std::vector<SweepId> LatestSweeps(const State& state, std::size_t most) {
  const std::size_t skipped = state.active.size() - std::min(state.active.size(), most);
  return {std::next(state.active.begin(), static_cast<std::ptrdiff_t>(skipped)), state.active.end()};
}

std::map<std::string, std::vector<GaugeSample>> LiveSeries(
    const State& state, const std::vector<SweepId>& sweeps,
    const std::map<SweepId, std::vector<SweepValue>>& stored) {
  Series series;
  for (const MetricSpec& spec : LiveMetricTable()) series[spec.name];
  const std::map<SweepId, SweepWork> work = WorkOf(state, sweeps);
  for (const SweepId id : sweeps) {
    const Sweep& sweep = state.sweeps.at(id);
    const auto before = stored.find(id);
    AddSweep(sweep, work.at(id),
             before == stored.end() ? sweep.values.all() : Merged(sweep.values.all(), before->second),
             series);
  }
  std::size_t attempts = 0;
  for (auto at = state.attempts.rbegin(); at != state.attempts.rend() && attempts < kAttemptsWithMetricsMax;
       ++at) {
    if (!work.contains(at->second.sweep)) continue;
    AddAttempt(state, at->second, series);
    ++attempts;
  }
  return series;
}

}  // namespace inlier
