#include "coordinator/orchestration/orchestrator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "proto/spec/canonical.h"
#include "proto/spec/did_you_mean.h"

namespace inlier {
namespace {

constexpr std::size_t kNamesCompared = 1000;  // With one that no sweep has, for a suggestion.

}  // namespace

OrchestratorOptions OrchestratorOptions::FromConfig(const v1::CoordinatorConfig& config,
                                                    const std::string& version) {
  OrchestratorOptions options;
  options.version = version;
  options.lease_ttl = std::chrono::milliseconds(config.lease_ttl_ms());
  options.lease_margin = std::chrono::milliseconds(config.lease_margin_ms());
  options.stall = std::chrono::seconds(config.stall_seconds());
  options.locality_wait = std::chrono::milliseconds(config.locality_wait_ms());
  options.materialised_trials_max = config.materialised_trials_max();
  for (const v1::GroupQuota& quota : config.quotas()) options.quotas[quota.group()] = quota.max_parallel();
  return options;
}

Orchestrator::Orchestrator(OrchestratorOptions options)
    : options_(std::move(options)),
      leases_(INLIER_BUG("margin_forgotten") ? options_.lease_ttl
                                             : options_.lease_ttl + options_.lease_margin),
      workers_(options_.lease_ttl + options_.lease_margin),
      sweeps_({.packs = [this](const Sweep& sweep) { scheduler_.RemoveSweep(sweep.id); },
               .unpacked = [this](const Sweep& sweep) { scheduler_.AddSweep(sweep.id, RulesOf(sweep)); }},
              cold_),
      trials_(cold_),
      stages_(cold_),
      trained_(cold_) {
  for (const auto& [group, max_parallel] : options_.quotas) scheduler_.SetQuota(group, max_parallel);
}

Scheduler::Rules Orchestrator::RulesOf(const Sweep& sweep) const {
  Scheduler::Rules rules;
  rules.priority = sweep.spec.priority();
  if (sweep.spec.max_parallel() > 0) rules.max_parallel = sweep.spec.max_parallel();
  rules.weight = sweep.spec.weight();
  rules.group = sweep.spec.group();
  rules.paused = sweep.paused;
  rules.preempts = sweep.spec.preempts();
  return rules;
}

absl::Status Orchestrator::MakeExpander(Sweep& sweep) {
  ASSIGN_OR_RETURN(SweepGrid grid, SweepGrid::Create(sweep.WholeSpec()));
  sweep.points = grid.size();
  sweep.kept = grid.kept();
  if (sweep.Exhausted()) return absl::OkStatus();
  sweep.expander = std::make_unique<SweepExpander>(std::move(grid), sweep.next_point);
  expanding_.insert(sweep.id);
  return absl::OkStatus();
}

bool Orchestrator::WantsTrials(const Sweep& sweep) const {
  // Not each trial that ends by itself, and never near to running dry. What is used up steadily is made in
  // such small steps, for which nobody waits long; what runs dry, in large ones.
  const std::uint64_t step =
      std::clamp<std::uint64_t>(options_.expand_ahead / 32, 1, options_.expand_per_tick);
  if (!sweep.expander || sweep.Count(v1::PENDING) + step > options_.expand_ahead) return false;
  const auto count = [this](v1::TrialState state) -> std::uint64_t {
    const auto at = trial_counts_.find(state);
    return at == trial_counts_.end() ? 0 : static_cast<std::uint64_t>(at->second);
  };
  return count(v1::PENDING) + count(v1::RUNNING) < options_.materialised_trials_max;
}

StageId Orchestrator::FindOrAddStage(Context& context, v1::StageKind kind, const std::string& fingerprint,
                                     const ExpandedTrial& trial, TrialId for_trial, StageId train,
                                     SpecHandle& spec) {
  const std::optional<Digest> digest = ParseSha256Hex(fingerprint);
  INLIER_CHECK(digest.has_value());
  if (const StageId known = stage_of_fingerprint_.Find(*digest, stages_)) return known;
  const StageId id = next_stage_;
  next_stage_ = StageId(next_stage_.value() + 1);
  Stage& stage = stages_[id];
  stage.id = id;
  stage.fingerprint = *digest;
  INLIER_CHECK(!stage_of_fingerprint_.Add(stage, stages_));
  stage.spec = spec == kNoSpec ? specs_.Add(trial.spec) : specs_.Share(spec);
  spec = stage.spec;
  stage.steps = trial.steps;
  if (kind == v1::EVALUATE_STAGE) Follow(stage, train);
  ++stage_counts_[{kind, v1::PENDING}];
  NewStage row{.id = id,
               .kind = kind,
               .fingerprint = fingerprint,
               .train_stage = std::nullopt,
               .spec_of = for_trial,
               .steps = trial.steps};
  if (kind == v1::EVALUATE_STAGE) row.train_stage = train;
  context.out.changes.Add(std::move(row));
  return id;
}

void Orchestrator::RegisterStage(Stage& stage, Sweep& sweep) {
  if (stage.HasSweep(sweep.id)) return;
  stage.AddSweep(sweep.id);
  StageTally& tally = TallyOf(sweep, stage);
  ++tally.total;
  tally.weight_total += stage.Weight();
}

void Orchestrator::Follow(Stage& stage, StageId train) {
  Stage& training = stages_.at(train);
  const StageId last = training.last_dependent();
  stage.Follow(training, last ? &stages_.at(last) : nullptr);
}

void Orchestrator::Materialise(Context& context, Sweep& sweep, ExpandedTrial expanded) {
  const TrialId id = next_trial_;
  next_trial_ = TrialId(next_trial_.value() + 1);
  Trial& trial = trials_[id];
  trial.id = id;
  trial.sweep = sweep.id;
  trial.point = expanded.point;
  NewTrial row{.id = id,
               .sweep = sweep.id,
               .point = expanded.point,
               .labels_json = LabelsJson(expanded.labels),
               .spec_json = std::move(expanded.identity.rest_json),
               .spec_groups = std::move(expanded.identity.groups),
               .spec_packed = std::move(expanded.identity.rest_packed),
               .train_stage = std::nullopt,
               .evaluate_stage = std::nullopt,
               .state = v1::PENDING,
               .message = ""};
  trial.labels = label_pool_.Pack(expanded.labels);
  std::string message;
  if (expanded.problem.ok()) {
    SpecHandle spec = kNoSpec;
    trial.train = FindOrAddStage(context, v1::TRAIN_STAGE, expanded.identity.train_fingerprint, expanded, id,
                                 StageId(), spec);
    trial.evaluate = FindOrAddStage(context, v1::EVALUATE_STAGE, expanded.identity.evaluate_fingerprint,
                                    expanded, id, trial.train, spec);
    row.train_stage = trial.train;
    row.evaluate_stage = trial.evaluate;
    Stage& train = stages_.at(trial.train);
    Stage& evaluate = stages_.at(trial.evaluate);
    // A stage that failed for another sweep before is tried again for this one; within a sweep its failure
    // stands.
    const bool reopen_train = !train.HasSweep(sweep.id);
    const bool reopen_evaluate = !evaluate.HasSweep(sweep.id);
    RegisterStage(train, sweep);
    RegisterStage(evaluate, sweep);
    trial.state = Link(context, trial, reopen_train, reopen_evaluate, message);
  } else {
    trial.state = v1::FAILED;
    message = absl::StrCat("INVALID_SPEC: ", expanded.problem.message());
  }
  trial.SetMessage(message);
  if (IsResult(trial.state)) trial.labels.reset();
  row.state = trial.state;
  row.message = message;
  context.out.changes.Add(std::move(row));
  if (trial.pruning != TrialPruningState::kNone)
    context.out.changes.Add(TrialPruning{.id = id, .state = trial.pruning});
  sweep.trials.push_back(id);
  CountTrial(sweep, std::nullopt, trial.state);
  ++sweep.version;
  if (IsTerminal(trial.state)) context.settle.insert(sweep.id);
}

std::uint64_t Orchestrator::Expand(Context& context, Sweep& sweep, std::uint64_t limit) {
  const std::uint64_t room =
      options_.expand_ahead - std::min(options_.expand_ahead, sweep.Count(v1::PENDING));
  std::uint64_t known = 0;
  for (ExpandedTrial& expanded :
       sweep.expander->Next(std::min(limit, room), sweep.ahead, options_.passed_per_tick)) {
    Materialise(context, sweep, std::move(expanded));
    if (IsResult(trials_.at(sweep.trials.back()).state)) ++known;
  }
  sweep.next_point = sweep.expander->next_point();
  if (!INLIER_BUG("next_point_not_stored"))
    context.out.changes.Add(SweepChange{
        .id = sweep.id, .state = std::nullopt, .next_point = sweep.next_point, .at = context.now.wall});
  if (sweep.expander->exhausted()) {
    sweep.expander.reset();
    expanding_.erase(sweep.id);
    context.settle.insert(sweep.id);
  }
  stats_.trials_known += known;
  return known;
}

absl::StatusOr<v1::SubmitSweepResponse> Orchestrator::OnSubmit(const v1::SubmitSweepRequest& request,
                                                               Moment now, Effects& effects,
                                                               std::unique_ptr<SweepExpander> expander) {
  Context context{now, effects};
  const std::string digest = ContentDigest(request.sweep());
  v1::SubmitSweepResponse response;
  if (!request.request_id().empty()) {
    if (const std::optional<SweepId> earlier = SweepOfRequest(request.request_id())) {
      const SweepView view = sweeps_.View(*earlier);
      const Sweep& sweep = *view;
      if (sweep.request_digest != digest) {
        return absl::AlreadyExistsError(
            absl::StrCat("request_id ", request.request_id(), " was used for sweep ", sweep.id.ToString(),
                         " (", sweep.spec.name(), ") with other content; use a new request_id"));
      }
      response.set_sweep_id(sweep.id.ToString());
      response.set_trials(INLIER_BUG("submission_told_of_its_edit") ? sweep.Total() : sweep.trials_told);
      response.set_trials_known(sweep.trials_known);
      return response;
    }
    if (const RequestRow* other = requests_.Find(request.request_id())) {
      return absl::AlreadyExistsError(absl::StrCat("request_id ", request.request_id(),
                                                   " was used for another call (", other->method,
                                                   "); use a new request_id"));
    }
  }
  Sweep made;
  made.id = next_sweep_;
  v1::SweepSpec spec = request.sweep();
  spec.clear_scales();  // Other sizes are for who reads the file.
  made.SetSpec(spec);
  made.request_id = request.request_id();
  made.request_digest = digest;
  made.submitted = now.wall;
  if (!expander) {
    ASSIGN_OR_RETURN(SweepGrid grid, SweepGrid::Create(spec));
    expander = std::make_unique<SweepExpander>(std::move(grid), 0);
  }
  made.points = expander->grid().size();
  made.kept = expander->grid().kept();
  const std::uint64_t trials = made.Total();
  if (trials > request.max_trials()) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", made.spec.name(), " has ", made.kept ? "" : "up to ", trials,
                     " trials, more than the limit of ", request.max_trials(),
                     "; make the grid narrower, or submit it with --yes (max_trials in SubmitSweepRequest)"));
  }
  if (trials == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sweep ", made.spec.name(), " has no trials: `exclude` leaves out every point of its axes"));
  }
  const SweepId id = next_sweep_;
  next_sweep_ = SweepId(next_sweep_.value() + 1);
  Sweep& sweep = sweeps_.Add(std::move(made));
  sweep.expander = std::move(expander);
  expanding_.insert(id);
  if (sweep.spec.has_pruning()) sweep.pruner = std::make_unique<Pruner>(sweep.spec.pruning());
  if (!sweep.request_id.empty() && !INLIER_BUG("request_id_not_remembered")) RememberRequest(sweep);
  ++sweep_counts_[v1::ACTIVE];
  ++stats_.sweeps_submitted;
  scheduler_.AddSweep(id, RulesOf(sweep));

  // The row of the sweep comes before those of its trials, yet tells how many of them were known.
  const std::size_t row = effects.changes.changes.size();
  effects.changes.Add(NewSweep{.id = id,
                               .spec = std::move(spec),
                               .points = sweep.points,
                               .trials = trials,
                               .trials_known = 0,
                               .request_id = sweep.request_id,
                               .request_digest = digest,
                               .at = now.wall});
  sweep.trials_told = trials;
  sweep.trials_known =
      Expand(context, sweep,
             sweep.points > options_.expand_at_submit ? options_.expand_first : options_.expand_at_submit);
  std::get<NewSweep>(effects.changes.changes[row]).trials_known = sweep.trials_known;
  effects.log.push_back(absl::StrCat("sweep_submitted sweep=", id.ToString(), " name=", sweep.spec.name(),
                                     " trials=", trials, " known=", sweep.trials_known));
  response.set_sweep_id(id.ToString());
  response.set_trials(trials);
  response.set_trials_known(sweep.trials_known);
  Finish(context);
  return response;
}

void Orchestrator::RememberRequest(const Sweep& sweep) {
  sweeps_by_request_.emplace(std::hash<std::string>()(sweep.request_id), sweep.id);
}

std::optional<SweepId> Orchestrator::SweepOfRequest(const std::string& request_id) const {
  const std::uint64_t hash = std::hash<std::string>()(request_id);
  for (auto at = sweeps_by_request_.lower_bound({hash, ShortId<SweepId>()});
       at != sweeps_by_request_.end() && at->first == hash; ++at) {
    if (sweeps_.View(at->second)->request_id == request_id) return at->second;
  }
  return std::nullopt;
}

absl::StatusOr<SweepId> Orchestrator::FindSweep(const std::string& id_or_name) const {
  if (const std::optional<SweepId> id = SweepId::Parse(id_or_name)) {
    if (sweeps_.contains(*id)) return *id;
  }
  if (const std::optional<SweepId> id = sweeps_.FindNewest(id_or_name)) return *id;
  std::vector<std::string> names = sweeps_.NewestNames(kNamesCompared);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return absl::NotFoundError(absl::StrCat("there is no sweep \"", id_or_name, "\"",
                                          DidYouMean(id_or_name, names),
                                          "; ListSweeps (inlier status) shows all"));
}

absl::StatusOr<TrialId> Orchestrator::FindTrial(const std::string& id) const {
  const std::optional<TrialId> trial = TrialId::Parse(id);
  if (trial && trials_.contains(*trial)) return *trial;
  return absl::NotFoundError(absl::StrCat(
      "there is no trial \"", id, "\"; trials are named like t-17, and ListTrials shows those of a sweep"));
}

absl::StatusOr<v1::CancelResponse> Orchestrator::OnCancel(const v1::CancelRequest& request, Moment now,
                                                          Effects& effects) {
  return Once<v1::CancelResponse>("Cancel", request, now, effects,
                                  [&] { return Cancel(request, now, effects); });
}

absl::StatusOr<v1::RetryResponse> Orchestrator::OnRetry(const v1::RetryRequest& request, Moment now,
                                                        Effects& effects) {
  return Once<v1::RetryResponse>("Retry", request, now, effects,
                                 [&] { return Retry(request, now, effects); });
}

absl::StatusOr<v1::CancelResponse> Orchestrator::Cancel(const v1::CancelRequest& request, Moment now,
                                                        Effects& effects) {
  if (request.has_sweep() == request.has_trial()) {
    return absl::InvalidArgumentError("Cancel needs a sweep or a trial, one of the two");
  }
  Context context{now, effects};
  v1::CancelResponse response;
  if (request.has_trial()) {
    ASSIGN_OR_RETURN(const TrialId id, FindTrial(request.trial()));
    Trial& trial = trials_.at(id);
    if (!IsTerminal(trial.state) || INLIER_BUG("terminal_state_overwritten")) {
      CancelTrial(context, trial, "cancelled");
      response.set_cancelled(1);
    }
    Finish(context);
    return response;
  }
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(request.sweep()));
  Sweep& sweep = sweeps_.at(id);
  std::uint64_t cancelled = 0;
  if (sweep.state == v1::ACTIVE) {
    cancelled = sweep.Total() - sweep.trials.size();
    sweep.expander.reset();
    expanding_.erase(id);
    SetSweepState(context, sweep, v1::SWEEP_CANCELLED);
    Notice(context, sweep, "sweep_cancelled", "the sweep was cancelled");
  }
  for (const TrialId trial_id : sweep.trials) {
    Trial& trial = trials_.at(trial_id);
    if (IsTerminal(trial.state)) continue;
    CancelTrial(context, trial, "the sweep was cancelled");
    ++cancelled;
  }
  response.set_cancelled(cancelled);
  Finish(context);
  return response;
}

bool Orchestrator::RetryTrial(Context& context, Trial& trial, bool pruned_too) {
  if (trial.withdrawn) return false;
  if (trial.state != v1::FAILED && trial.state != v1::CANCELLED &&
      !(INLIER_BUG("result_retried") && trial.state == v1::DIVERGED))
    return false;
  if (!trial.train) return false;  // An invalid spec can never run.
  const TrialPruningState before = trial.pruning;
  if (before == TrialPruningState::kPruned) {
    if (!pruned_too) return false;
    SetPruning(sweeps_.at(trial.sweep), trial, TrialPruningState::kKept);
  }
  SetTrialState(context, trial, v1::PENDING, "");
  std::string message;
  const v1::TrialState state = Link(context, trial, /*reopen_train=*/true, /*reopen_evaluate=*/true, message);
  if (trial.pruning != before) context.out.changes.Add(TrialPruning{.id = trial.id, .state = trial.pruning});
  SetTrialState(context, trial, state, message);
  return true;
}

absl::StatusOr<v1::RetryResponse> Orchestrator::Retry(const v1::RetryRequest& request, Moment now,
                                                      Effects& effects) {
  if (request.has_sweep() == request.has_trial()) {
    return absl::InvalidArgumentError("Retry needs a sweep or a trial, one of the two");
  }
  Context context{now, effects};
  v1::RetryResponse response;
  std::uint64_t retried = 0;
  SweepId sweep_id;
  if (request.has_trial()) {
    ASSIGN_OR_RETURN(const TrialId id, FindTrial(request.trial()));
    if (trials_.at(id).withdrawn) {
      return absl::FailedPreconditionError(
          absl::StrCat("trial ", id.ToString(),
                       " was withdrawn by an edit of its sweep; bring its values back with another edit"));
    }
    if (RetryTrial(context, trials_.at(id), /*pruned_too=*/true)) ++retried;
    sweep_id = trials_.at(id).sweep;
  } else {
    ASSIGN_OR_RETURN(sweep_id, FindSweep(request.sweep()));
    for (const TrialId id : sweeps_.at(sweep_id).trials) {
      if (RetryTrial(context, trials_.at(id), /*pruned_too=*/false)) ++retried;
    }
  }
  Sweep& sweep = sweeps_.at(sweep_id);
  // Points that were never made into trials, because the sweep was cancelled or stopped before, are retried
  // too.
  const bool unfinished = request.has_sweep() && sweep.state != v1::ACTIVE && !sweep.Exhausted();
  if (unfinished) retried += sweep.Total() - sweep.trials.size();
  // One trial of a sweep that ended before all its points were trials runs alone: the others stay unmade.
  if (sweep.state != v1::ACTIVE && retried > 0 &&
      (request.has_sweep() || sweep.Exhausted() || INLIER_BUG("retried_trial_reopens_sweep"))) {
    SetSweepState(context, sweep, v1::ACTIVE);
    Notice(context, sweep, "sweep_retried", absl::StrCat("a retry was asked for: ", retried, " trials"));
    if (unfinished) RETURN_IF_ERROR(MakeExpander(sweep));
    context.settle.insert(sweep.id);
  }
  response.set_retried(retried);
  Finish(context);
  return response;
}

}  // namespace inlier
