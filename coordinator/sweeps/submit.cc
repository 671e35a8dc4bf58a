#include "coordinator/sweeps/submit.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/transitions.h"
#include "coordinator/sweeps/expand.h"
#include "coordinator/sweeps/start_source.h"
#include "spec/program/import_source.h"

namespace inlier {
namespace {

v1::SubmitSweepResponse AnswerOf(const Sweep& sweep) {
  v1::SubmitSweepResponse response;
  response.set_sweep_id(sweep.id.ToString());
  response.set_trials(sweep.submission.trials);
  response.set_trials_known(sweep.submission.known);
  return response;
}

// The answer that a request with this id got before; nullopt: it is new. AlreadyExists: it was used for something else.
absl::StatusOr<std::optional<v1::SubmitSweepResponse>> EarlierAnswer(const State& state,
                                                                     const std::string& id,
                                                                     const std::string& digest,
                                                                     const Caller& caller) {
  if (const std::optional<SweepId> earlier = state.sweeps.FindRequest(id)) {
    const Sweep& sweep = state.sweeps.at(*earlier);
    if (!MayChange(caller, sweep)) {
      return absl::AlreadyExistsError(
          absl::StrCat("request_id ", id, " was used by another caller; use a new request_id"));
    }
    if (sweep.submission.digest != digest) {
      return absl::AlreadyExistsError(absl::StrCat("request_id ", id, " was used for sweep ",
                                                   sweep.id.ToString(), " (", sweep.spec.name(),
                                                   ") with other content; use a new request_id"));
    }
    return AnswerOf(sweep);
  }
  if (const RequestRow* other = state.requests.Find(id)) {
    return absl::AlreadyExistsError(absl::StrCat("request_id ", id, " was used for another call (",
                                                 other->method, "); use a new request_id"));
  }
  return std::optional<v1::SubmitSweepResponse>();
}

// Without its points.
Sweep Made(const Context& context, const v1::SubmitSweepRequest& request, const v1::SweepSpec& spec,
           const std::string& digest, const Caller& caller) {
  Sweep made;
  made.id = context.state.sweeps.NextId();
  made.SetSpec(spec);
  made.submission.request_id = request.request_id();
  made.submission.digest = digest;
  made.owner = caller.name;
  made.submission.at = context.now.wall;
  made.began = context.now.at;
  made.time.stored = {.id = made.id, .at = context.now.wall};
  made.submission.again = request.again();
  made.bound.since = context.state.next_token;
  return made;
}

}  // namespace

absl::StatusOr<v1::SubmitSweepResponse> SubmitSweep(Context& context, const v1::SubmitSweepRequest& request,
                                                    std::optional<SweepGrid> grid, const Caller& caller) {
  State& state = context.state;
  std::string digest = ContentDigest(request.sweep());
  if (request.again()) digest = Sha256Hex(absl::StrCat("again\n", digest));
  if (!request.request_id().empty()) {
    ASSIGN_OR_RETURN(const std::optional<v1::SubmitSweepResponse> earlier,
                     EarlierAnswer(state, request.request_id(), digest, caller));
    if (earlier) return *earlier;
  }
  RETURN_IF_ERROR(CheckNotImported(request.sweep(), request.sweep().name()));
  RETURN_IF_ERROR(CheckCallerLimits(state, caller, request.sweep()));
  v1::SweepSpec spec = request.sweep();
  spec.clear_scales();  // Other sizes are for the reader of the file.
  Sweep made = Made(context, request, spec, digest, caller);
  if (!grid) {
    ASSIGN_OR_RETURN(grid, SweepGrid::Create(spec));
  }
  RETURN_IF_ERROR(CheckStarts(state, *grid));
  made.expansion.points = grid->size();
  made.expansion.kept = grid->kept();
  const std::uint64_t trials = made.Total();
  if (trials > request.max_trials()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sweep ", spec.name(), " has ", trials, " trials, more than the limit of ", request.max_trials(),
        "; make the grid narrower, or submit it with --yes (in Python max_trials)"));
  }
  Sweep& sweep = state.sweeps.Add(std::move(made));
  const SweepId id = sweep.id;
  SetExpander(state, sweep, std::make_unique<SweepExpander>(*std::move(grid), 0));
  if (sweep.spec.has_pruning()) sweep.pruning.pruner = std::make_unique<Pruner>(sweep.spec.pruning());
  if (!sweep.submission.request_id.empty()) state.sweeps.RememberRequest(sweep);
  state.active.insert(id);
  ++state.counts.sweeps[v1::ACTIVE];
  ++state.stats.sweeps_submitted;
  state.ready.AddSweep(id, RulesOf(state, sweep));
  ForEachFeature(&Feature::sweep_began, context, sweep);

  // The row of the sweep comes before those of its trials, yet holds how many of them were known.
  const std::size_t row = context.out.changes.changes.size();
  context.out.changes.Add(SweepRow{.id = id,
                                   .spec = std::move(spec),
                                   .points = sweep.expansion.points,
                                   .trials = trials,
                                   .trials_at_submit = trials,
                                   .request_id = sweep.submission.request_id,
                                   .request_digest = digest,
                                   .owner = sweep.owner,
                                   .submitted_at = context.now.wall,
                                   .again = sweep.submission.again});
  sweep.submission.trials = trials;
  const bool large = sweep.expansion.points > state.options.expand_at_submit;
  sweep.submission.known =
      Expand(context, sweep, large ? state.options.expand_first : state.options.expand_at_submit);
  ForEachFeature(&Feature::sweep_changed, context, sweep);
  std::get<SweepRow>(context.out.changes.changes[row]).trials_known = sweep.submission.known;
  context.Log("sweep_submitted sweep=", id.ToString(), " name=", sweep.spec.name(), " trials=", trials,
              " known=", sweep.submission.known);
  return AnswerOf(sweep);
}

}  // namespace inlier
