// Oracle: what people were promised of running things - pauses, drains, edits, pruning, pushes, requests that
// come again.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "coordinator/state/usage_meter.h"
#include "coordinator/store/sweep_json.h"
#include "tests/simulation/oracle.h"

namespace inlier {
namespace {

// By how much a coordinator that is slow, or has just started, may miss a deadline.
constexpr Duration kLateness = std::chrono::seconds(10);

std::int64_t SweepNumber(const std::string& sweep) {
  return SweepId::Parse(sweep).value_or(SweepId()).value();
}

// The worst value that continues, by the promise of the rules; none: all continue. All values are
// numbers here.
std::optional<double> Threshold(const v1::PruningSpec& rule, std::vector<double> others) {
  const bool more = rule.goal() == v1::PruningSpec::MAXIMIZE;
  std::sort(others.begin(), others.end());
  if (more) std::reverse(others.begin(), others.end());  // The best first.
  const std::size_t count = others.size();
  if (rule.has_median()) {
    if (count == 0 || count < rule.median().min_trials()) return std::nullopt;
    return count % 2 == 1 ? others[count / 2] : (others[count / 2 - 1] + others[count / 2]) / 2;
  }
  // The best 1/reduction of all that came, the one under evaluation included, and one at least.
  const std::size_t kept = std::max<std::size_t>(1, (count + 1) / rule.asha().reduction());
  if (count < kept) return std::nullopt;
  return others[kept - 1];
}

}  // namespace

void Oracle::Listens(const std::string& incarnation, bool listens) {
  if (listens) {
    listening_.insert(incarnation);
  } else {
    listening_.erase(incarnation);
  }
}

void Oracle::CheckLease(const std::string& name, const std::string& incarnation, std::int64_t sweep,
                        std::uint32_t slot, const v1::WorkerSync* sync) const {
  auto must = [this](bool holds, const std::string& what) {
    if (!holds) world_.Violate(what);
  };
  const auto worker = workers_.find(incarnation);
  if (worker == workers_.end()) return must(false, absl::StrCat(name, " for a worker that was never heard"));
  if (sync != nullptr && sync->incarnation() == incarnation) {
    must(fresh_, absl::StrCat(name, " for a message that is out of date"));
  } else {
    must(listening_.contains(incarnation),
         absl::StrCat(name, " for a worker that did not ask and does not listen"));
  }
  must(!worker->second.draining, absl::StrCat(name, " for a worker that is draining"));
  must(!worker->second.occupied.contains(slot),
       absl::StrCat(name, " on slot ", slot, " that its worker reports as taken"));
  const auto hold = holds_.find(incarnation);
  must(hold == holds_.end() || !hold->second.on, absl::StrCat(name, " for a worker that was drained"));
  const auto pause = pauses_.find(sweep);
  must(pause == pauses_.end() || !pause->second.on,
       absl::StrCat(name, " of sweep ", sweep, ", which is paused"));
}

void Oracle::CheckSweepHours(const std::string& name, std::int64_t id) const {
  const auto sweep = sweeps_.find(id);
  const auto submitted = submitted_.find(id);
  // Over a restart it is counted by the wall clock, which may jump.
  if (sweep == sweeps_.end() || submitted == submitted_.end() || !sweep->second.sweep_hours ||
      world_.plan().wall_jump > 0)
    return;
  const Duration allowed = FromHours(*sweep->second.sweep_hours) + kLateness;
  if (world_.now() - std::max(submitted->second, started_ - FromHours(*sweep->second.sweep_hours)) > allowed)
    world_.Violate(absl::StrCat(name, " of sweep ", id, " starts ",
                                FormatDuration(world_.now() - submitted->second),
                                " after its submission, and its sweep_hours are ",
                                FormatDuration(FromHours(*sweep->second.sweep_hours))));
}

// An attempt of an earlier life of the coordinator counts by the wall clock: those of this one are looked at.
void Oracle::CheckLimits() {
  for (const auto& [token, granted] : granted_at_) {
    if (world_.now() - granted <= kLateness || yielding_.contains(token)) continue;
    const auto attempt = attempts_.find(static_cast<std::int64_t>(token));
    if (attempt == attempts_.end()) continue;  // Not stored yet.
    std::optional<double> longest = 0;
    for (const std::int64_t trial : trials_of_stage_[attempt->second.stage]) {
      const std::optional<double>& hours = sweeps_.at(trials_.at(trial).sweep).attempt_hours;
      longest = hours && longest ? std::optional(std::max(*longest, *hours)) : std::nullopt;
    }
    Must(!longest || world_.now() - granted <= FromHours(*longest) + kLateness,
         absl::StrCat("attempt ", token, " has run for ", FormatDuration(world_.now() - granted),
                      ", and no sweep allows it more than ", FormatDuration(FromHours(longest.value_or(0)))));
  }
}

void Oracle::AnswerDecided(const v1::CoordinatorSync& answer) {
  for (const v1::Assignment& desired : answer.desired()) {
    Must(!yielding_.contains(desired.token()),
         absl::StrCat("attempt ", desired.token(), " was to stop, and is wanted again"));
  }
}

void Oracle::PushLeaves(const std::string& incarnation, const v1::CoordinatorSync& push) {
  Must(push.pushed() && !push.has_acknowledged_sequence() && !push.has_lease_ttl_ms(),
       absl::StrCat("what is pushed to worker ", incarnation, " acknowledges or renews"));
  CheckDesired(incarnation, push);
}

bool Oracle::Remembers(const Effects& effects, const std::string& request_id) {
  return std::any_of(effects.changes.changes.begin(), effects.changes.changes.end(),
                     [&](const Change& change) {
                       const auto* row = std::get_if<RequestRow>(&change);
                       return row != nullptr && row->id == request_id;
                     });
}

void Oracle::AnswerLeaves(const std::string& request_id, const std::string& answer) {
  if (request_id.empty()) return;
  const auto [at, first] = answers_.emplace(request_id, answer);
  if (!first) world_.Count("requests answered again");
  Must(at->second == answer, absl::StrCat("request ", request_id, " is answered otherwise than before"));
}

std::string Oracle::OwnerOf(const std::string& name) const {
  const std::optional<TrialId> id = TrialId::Parse(name);
  const auto trial = trials_.find(id.value_or(TrialId()).value());
  const auto sweep = sweeps_.find(id && trial != trials_.end() ? trial->second.sweep : SweepNumber(name));
  return sweep == sweeps_.end() ? "no one" : sweep->second.owner;
}

void Oracle::CheckChange(const Caller& caller, const std::string& name, const absl::Status& outcome) {
  const bool may = caller.admin || OwnerOf(name) == caller.name;
  if (!may) world_.Count("changes by strangers refused");
  Must(may == !absl::IsPermissionDenied(outcome),
       absl::StrCat(name, " of ", OwnerOf(name), ": ", caller.name, " asked for a change, and the answer is ",
                    absl::StatusCodeToString(outcome.code())));
}

std::uint64_t Oracle::PauseDecided(const std::string& sweep, bool paused) {
  world_.Count(paused ? "pauses" : "resumes");
  return pauses_[SweepNumber(sweep)].Decide(paused);
}

void Oracle::PauseAnswered(const std::string& sweep, bool paused, std::uint64_t decision) {
  const std::int64_t id = SweepNumber(sweep);
  if (pauses_[id].decisions != decision) return;  // Another decision has come since.
  Must(sweeps_.at(id).paused == paused,
       absl::StrCat(sweep, " was ", paused ? "paused" : "resumed", ", and its row does not record it"));
}

std::uint64_t Oracle::HoldDecided(const std::string& worker, bool held) {
  world_.Count(held ? "drains" : "drains undone");
  return holds_[worker].Decide(held);
}

void Oracle::HoldAnswered(const std::string& worker, bool held, std::uint64_t decision) {
  if (holds_[worker].decisions != decision) return;
  Must(workers_[worker].held == held, absl::StrCat("worker ", worker, " was ", held ? "drained" : "resumed",
                                                   ", and its row does not record it"));
}

void Oracle::EditDecided(const v1::EditSweepRequest& request, const v1::EditSweepResponse& response) {
  world_.Count("edits");
  ++edits_[SweepNumber(request.sweep())];
  if (const auto sweep = sweeps_.find(SweepNumber(request.sweep())); sweep != sweeps_.end())
    sweep->second.Allow(request.spec().limits(), /*first=*/false);
  Must(!request.has_revision() || response.revision() == request.revision() + 1,
       absl::StrCat("an edit of ", request.sweep(), " from revision ", request.revision(), " made revision ",
                    response.revision()));
  if (request.spec().has_sampling()) return;
  std::uint64_t points = 1;
  for (const v1::Axis& axis : request.spec().axes())
    points *= static_cast<std::uint64_t>(axis.values_size() + axis.variants_size());
  Must(response.trials() == points && response.kept() + response.added() == points,
       absl::StrCat("an edit of ", request.sweep(), " to ", points, " points reported ", response.trials(),
                    ", ", response.kept(), " kept and ", response.added(), " added"));
}

void Oracle::EditAnswered(const v1::EditSweepRequest& request, const v1::EditSweepResponse& response) {
  Must(sweeps_.at(SweepNumber(request.sweep())).revision >= static_cast<std::int64_t>(response.revision()),
       absl::StrCat("the edit of ", request.sweep(), " to revision ", response.revision(), " is not stored"));
}

void Oracle::ExtendDecided(const v1::ExtendSweepRequest& request, const v1::ExtendSweepResponse& response) {
  world_.Count("searches extended");
  Must(response.asked() == request.first() + static_cast<std::uint32_t>(request.points_size()),
       absl::StrCat(request.points_size(), " points of ", request.sweep(), " that begin with number ",
                    request.first(), " made it ", response.asked(), " points"));
}

void Oracle::ExtendAnswered(const v1::ExtendSweepRequest& request) {
  for (int i = 0; i < request.points_size(); ++i) {
    const auto stored = asked_for_.find({SweepNumber(request.sweep()), request.first() + i});
    Must(stored != asked_for_.end() && stored->second == ValuesJson(request.points(i)),
         absl::StrCat("point ", request.first() + static_cast<std::uint32_t>(i), " of ", request.sweep(),
                      " was acknowledged, and is not stored"));
  }
}

void Oracle::CheckPoints(std::int64_t id, const SweepRow& sweep) {
  if (sweep.axes.empty()) return;
  for (const std::int64_t trial_id : sweep.trial_ids) {
    const TrialRow& trial = trials_.at(trial_id);
    std::int64_t point = 0;
    bool there = true;
    for (const auto& [axis, labels] : sweep.axes) {
      const auto label = trial.labels.find(axis);
      const auto at =
          label == trial.labels.end() ? labels.end() : std::find(labels.begin(), labels.end(), label->second);
      there = there && at != labels.end();
      point = point * static_cast<std::int64_t>(labels.size()) + (at - labels.begin());
    }
    if (trial.point) {
      Must(there && *trial.point == point,
           absl::StrCat("trial ", trial_id, " of the edited sweep ", id, " is at point ", *trial.point,
                        " and not where its values are"));
    } else if (there && !trial.was_withdrawn && changed_["trial"].contains(trial_id)) {
      // In one transaction it may have left and come back as another trial.
      Must(sweep.revision > sweep.before + 1,
           absl::StrCat("trial ", trial_id, " was withdrawn, and the edited sweep ", id, " has its point"));
    }
  }
}

// The verdict is evaluated again, by the rows before it.
void Oracle::JudgeAgain(const Verdict& verdict) {
  const auto& [id, sweep, stage, token, bracket, rung, others, value, prune, stored] = verdict;
  const std::string name = absl::StrCat("verdict ", id, " about stage ", stage, " of sweep ", sweep);
  const v1::PruningSpec& rule = sweeps_[sweep].pruning;
  std::vector<double>& earlier = rungs_[{sweep, bracket, rung}];
  const std::optional<double> threshold = Threshold(rule, earlier);
  const bool worse =
      threshold && (rule.goal() == v1::PruningSpec::MAXIMIZE ? value < *threshold : value > *threshold);
  Must(static_cast<std::int64_t>(earlier.size()) == others && stored == threshold && prune == worse,
       absl::StrCat(name, ": ", prune ? "PRUNE" : "CONTINUE", " against ", others,
                    ", and judged again it is ", worse ? "PRUNE" : "CONTINUE", " against ", earlier.size()));
  const auto before = judged_.find({sweep, stage});
  Must(before == judged_.end() || before->second.second < rung,
       absl::StrCat(name, ": it has a verdict there already"));
  Must(before == judged_.end() || before->second.first == bracket,
       absl::StrCat(name, ": it has changed its bracket"));
  earlier.push_back(value);
  judged_[{sweep, stage}] = {bracket, rung};
  if (!prune) return;
  prune_.emplace(sweep, stage);
  world_.Count("verdicts to prune");
  // Where no other sweep has it, and no one asked for it all the same, it is over.
  const std::set<std::int64_t>& trials = trials_of_stage_[stage];
  const bool alone = std::all_of(trials.begin(), trials.end(), [&](std::int64_t trial) {
    return trials_.at(trial).sweep == sweep && pruned_[trial] != "KEPT";
  });
  Must(!alone || attempts_.at(token).ended, absl::StrCat(name, ": attempt ", token, " continues"));
}

std::vector<std::string> Oracle::worker_ids() const { return worker_ids_; }

std::vector<std::string> Oracle::PausedSweeps() const {
  std::vector<std::string> paused;
  for (const auto& [id, sweep] : sweeps_) {
    if (sweep.paused) paused.push_back(SweepId(id).ToString());
  }
  return paused;
}

bool Oracle::IsHeld(const std::string& worker) const {
  const auto at = workers_.find(worker);
  return at != workers_.end() && at->second.held;
}

}  // namespace inlier
