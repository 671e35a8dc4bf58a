#include "coordinator/data/data_binding.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/digest.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/data/data_check.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/readiness.h"
#include "spec/trial/data_source.h"

namespace inlier {
namespace {

void Bind(Context& context, Stage& stage, DataId version) {
  if (stage.data == version) return;
  stage.data = version;
  context.out.changes.Add(StageData{.id = stage.id, .data = version});
}

// Some worker has other data of the source: binds its ready stages to the data of their sweeps, as far as these
// are known, and places its ready stages by the data that workers are known to have.
void PlaceByData(Context& context, DataId source) {
  State& state = context.state;
  std::vector<StageId> ready;
  for (const Stage& stage : state.stages) {
    if (!stage.ready) continue;
    if (state.data.SourceOf(state.stages.BoundFor(stage).data) == source) ready.push_back(stage.id);
  }
  for (const StageId id : ready) {
    Stage& stage = state.stages.at(id);
    if (stage.data) {
      if (const DataId expected = ExpectedData(state, stage)) Bind(context, stage, expected);
    }
    RefreshReadiness(context, stage);
  }
}

// Zero: the worker has nothing of that name; of a program, its owner has not named one (programs, program_roots).
std::string HaveText(const Digest& digest) {
  return digest == Digest{} ? " is not there" : absl::StrCat(" has digest ", HexOf(digest), " there");
}

void Refuse(Context& context, const Attempt& live, Stage& bound, DataId expected, DataId found,
            const WorkerEntry& worker) {
  State& state = context.state;
  const Attempt attempt = live;  // EndAttempt forgets it.
  const DataRow& wanted = state.data.at(expected);
  const std::string message = absl::StrCat(
      "worker ", worker.name, " has other data than the trial began with: ", DataSourceText(wanted.names),
      HaveText(*state.data.at(found).digest), ", and has digest ", HexOf(*wanted.digest),
      wanted.worker.empty() ? " in the sweep" : absl::StrCat(" on worker ", wanted.worker));
  // The sweep's data, from now on known to be the stage's, too: it is not given to this worker again.
  Bind(context, bound, expected);
  if (state.data.MarkDiffers(expected)) PlaceByData(context, state.data.SourceOf(expected));
  EndAttempt(context, attempt.token, v1::FAILED, v1::OTHER_DATA, message, absl::StrCat("refused: ", message));
  AttemptFailed(context, state.stages.at(attempt.stage), attempt, v1::OTHER_DATA, message);
}

// A worker that had the data and has gone may come back until then; nullopt: there is none.
std::optional<Timestamp> ComesBack(const State& state, const ResourceRequest& request, Timestamp now) {
  std::optional<Timestamp> until;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    if (worker.connected || worker.resources.DataOf(request.data_source) != request.data) continue;
    const Timestamp end = worker.seen.at + state.options.data_wait;
    if (end > now && (!until || end > *until)) until = end;
  }
  return until;
}

void FailStagesWithoutData(Context& context) {
  State& state = context.state;
  std::optional<Timestamp>& due = state.data_waits.lacking_due;
  due.reset();
  std::vector<std::pair<StageId, std::string>> lacking;
  for (const Sweep& sweep : state.sweeps) {
    if (state.ready.ready(sweep.id) == 0) continue;
    for (const auto& [request, count] : state.ready.ReadyRequests(sweep.id)) {
      const std::string why = WhyNoData(state, request);
      if (why.empty()) continue;
      if (const std::optional<Timestamp> until = ComesBack(state, request, context.now.at)) {
        due = Earlier(due, until);
        continue;
      }
      for (const StageId stage : state.ready.ReadyWith(sweep.id, request)) lacking.emplace_back(stage, why);
    }
  }
  for (const auto& [id, why] : lacking) {
    Stage& stage = state.stages.at(id);
    if (stage.state != v1::PENDING) continue;  // Ready in two sweeps.
    stage.ready = false;
    FailStage(context, stage,
              absl::StrCat("OTHER_DATA: ", why,
                           "; put those files back and retry it, or submit the sweep again, "
                           "which then runs on the new data"));
  }
}

}  // namespace

DataId ExpectedData(const State& state, const Stage& bound) {
  if (state.data.IsKnown(bound.data)) return bound.data;
  for (const Dependent& dependent : bound.Dependents()) {
    const Sweep& sweep = state.sweeps.at(dependent.sweep);
    if (const auto began = sweep.bound.of_source.find(bound.data); began != sweep.bound.of_source.end())
      return began->second;
  }
  return DataId();
}

bool TakeDigest(Context& context, Attempt& attempt, WorkerEntry& worker, std::string_view digest) {
  State& state = context.state;
  Stage& stage = state.stages.at(attempt.stage);
  Stage& bound = state.stages.BoundFor(stage);
  const DataId source = state.data.SourceOf(bound.data);
  const DataId found =
      FindOrAddVersion(context, source, ParseSha256Hex(digest).value_or(Digest{}), worker.name);
  SetWorkerData(state, worker, found);
  const DataId expected = ExpectedData(state, bound);
  if (expected && expected != found && !INLIER_BUG("other_data_accepted")) {
    Refuse(context, attempt, bound, expected, found, worker);
    return false;
  }
  Bind(context, bound, found);
  bool begins = false;  // For a sweep that needs the stage.
  for (const Dependent& dependent : stage.Dependents())
    begins = state.sweeps.at(dependent.sweep).bound.of_source.emplace(source, found).second || begins;
  if (begins && state.data.source(source).differs) PlaceByData(context, source);
  DataFound(context, found, attempt.token);
  return true;
}

Feature LackingData() {
  return {.due = [](const State& state) { return state.data_waits.lacking_due; },
          .act = FailStagesWithoutData,
          .worker_lost =
              [](Context& context, WorkerEntry&) {
                if (context.state.data.AnyDiffers()) context.state.data_waits.lacking_due = Timestamp{};
              }};
}

}  // namespace inlier
