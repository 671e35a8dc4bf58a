#include "coordinator/imports/import_sweep.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/utf8.h"
#include "coordinator/data/data_check.h"
#include "coordinator/state/request_log.h"
#include "coordinator/state/transitions.h"
#include "spec/program/import_source.h"
#include "spec/schema/field_path.h"
#include "spec/schema/limits.h"
#include "spec/schema/problems.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/point_labels.h"
#include "spec/trial/canonical.h"

namespace inlier {
namespace {

std::string PlaceOf(const v1::ImportedRun& run, int number) {
  return absl::StrCat(ItemPath("runs", number), " (", Quoted(run.name()), ")");
}

absl::Status CheckSpec(const v1::SweepSpec& spec) {
  if (!IsSha256Hex(spec.imported().sha256()) || !spec.imported().has_format())
    return absl::InvalidArgumentError(
        "spec.imported: lacks the format or the SHA-256 of its source; let `inlier import` make the request");
  v1::SweepSpec rest = spec;
  rest.clear_name();
  rest.clear_description();
  rest.clear_base();
  rest.clear_axes();
  rest.clear_program();
  rest.clear_table();
  rest.clear_figures();
  rest.clear_imported();
  if (rest.ByteSizeLong() > 0 || !spec.has_program())
    return absl::InvalidArgumentError(
        "spec: an imported sweep has `program` and axes, and nothing that decides how trials run; leave out "
        "the rest");
  for (int i = 0; i < spec.axes_size(); ++i) {
    const v1::Axis& axis = spec.axes(i);
    if (!axis.has_field() || axis.values_size() == 0 || axis.when_size() > 0)
      return absl::InvalidArgumentError(absl::StrCat(
          ItemPath("spec.axes", i), ": an axis of an imported sweep has a field and its values alone"));
  }
  return absl::OkStatus();
}

absl::Status CheckName(const MeasurementList& known, const std::string& name, const std::string& place) {
  if (known.Find(name) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      place, ": ", Quoted(name), " is not a measurement of spec.program.description; declare it there"));
}

// Adds its numbers to `numbers`.
absl::Status CheckRun(const v1::ImportedRun& run, const MeasurementList& known, const std::string& place,
                      std::uint64_t& numbers) {
  if (run.name().size() > Limits::kNameBytesMax || run.failed().size() > Limits::kMessageBytesMax ||
      run.parameters().ByteSizeLong() > Limits::kTrialBytesMax || !IsUtf8(run.name()) ||
      !IsUtf8(run.failed()))
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": its name, its parameters or its reason are too long, or not UTF-8; shorten them"));
  if (run.has_failed() && (run.results_size() > 0 || run.curves_size() > 0))
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": has failed and has numbers; leave out one of the two"));
  for (const auto& [name, value] : run.results()) RETURN_IF_ERROR(CheckName(known, name, place));
  numbers += static_cast<std::uint64_t>(run.results_size());
  std::unordered_set<std::string> curves;
  for (const v1::ImportedCurve& curve : run.curves()) {
    RETURN_IF_ERROR(CheckName(known, curve.name(), place));
    if (curve.steps_size() != curve.values_size() || !curves.insert(curve.name()).second)
      return absl::InvalidArgumentError(
          absl::StrCat(place, ".curves: ", curve.name(), " is there twice, or has not one value a step"));
    for (const std::uint64_t step : curve.steps()) {
      if (step > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return absl::InvalidArgumentError(absl::StrCat(place, ".curves: step ", step, " is too large"));
    }
    numbers += static_cast<std::uint64_t>(curve.values_size());
  }
  return absl::OkStatus();
}

// The content that is compared with earlier imports: what the numbers are, not how they are named or by whom.
std::string DigestOf(const v1::ImportSweepRequest& request) {
  v1::ImportSweepRequest content = request;
  content.clear_request_id();
  content.clear_again();
  content.mutable_spec()->clear_name();
  content.mutable_spec()->clear_description();
  content.mutable_spec()->mutable_imported()->clear_path();
  content.mutable_spec()->mutable_imported()->clear_by();
  content.mutable_spec()->mutable_program()->mutable_description()->clear_name();
  content.mutable_spec()->mutable_program()->clear_name();
  return ContentDigest(content);
}

const Sweep* FindImport(const State& state, const std::string& digest) {
  const Sweep* found = nullptr;  // One that is not removed, where there is one.
  for (const Sweep& sweep : state.sweeps) {
    if (!sweep.spec.has_imported() || sweep.submission.digest != digest || sweep.order.freed) continue;
    if (found == nullptr || found->order.removed) found = &sweep;
  }
  return found;
}

// A run as a trial has it.
struct ImportedTrial {
  v1::TrialSpec spec;
  PointLabels labels;
};

// Makes the trials of runs by the form of their sweep.
class TrialMaker {
 public:
  TrialMaker(const v1::SweepSpec& spec, const SweepGrid& grid) : spec_(spec), grid_(grid) {
    for (const AxisInfo& axis : grid.axes()) {
      fields_.push_back(FieldPath::Known(grid.form().descriptor(), axis.field));
      labels_.emplace_back(axis.labels.begin(), axis.labels.end());
    }
  }

  ImportedTrial Make(const v1::ImportedRun& run, const std::string& place, Problems* problems) const {
    ImportedTrial made;
    const std::unique_ptr<google::protobuf::Message> point = grid_.form().Read(spec_.base(), problems);
    ApplyStruct(run.parameters(), place + ".parameters", point.get(), problems);
    grid_.form().Write(*point, &made.spec);
    made.spec.mutable_program()->set_name(spec_.program().name());
    made.spec.mutable_program()->set_digest(spec_.program().digest());
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const AxisInfo& axis = grid_.axes()[i];
      std::string label = fields_[i].Has(*point) ? fields_[i].GetText(*point) : "";
      if (!label.empty() && !labels_[i].contains(label))
        problems->Add(place, absl::StrCat(Quoted(label), " is not a value of the axis ", axis.name,
                                          "; give the axis all that its runs have"));
      made.labels.emplace_back(axis.name, std::move(label));
    }
    return made;
  }

 private:
  const v1::SweepSpec& spec_;
  const SweepGrid& grid_;
  std::vector<FieldPath> fields_;
  std::vector<std::unordered_set<std::string>> labels_;
};

Sweep& AddSweep(Context& context, const v1::ImportSweepRequest& request, const std::string& digest,
                const Caller& caller) {
  State& state = context.state;
  const auto runs = static_cast<std::uint64_t>(request.runs_size());
  Sweep made;
  made.id = state.sweeps.NextId();
  made.SetSpec(request.spec());
  made.submission.digest = digest;
  made.submission.at = context.now.wall;
  made.submission.trials = runs;
  made.owner = caller.name;
  made.began = context.now.at;
  made.time.stored = {.id = made.id, .at = context.now.wall};
  made.bound.since = state.next_token;
  made.state = v1::COMPLETE;
  made.ended = context.now.wall;
  made.expansion.points = made.expansion.kept = made.expansion.next_point = runs;
  Sweep& sweep = state.sweeps.Add(std::move(made));
  ++state.counts.sweeps[v1::COMPLETE];
  state.ready.AddSweep(sweep.id, RulesOf(state, sweep));
  ForEachFeature(&Feature::sweep_began, context, sweep);
  context.out.changes.Add(SweepRow{.id = sweep.id,
                                   .spec = sweep.spec,
                                   .points = runs,
                                   .trials = runs,
                                   .trials_at_submit = runs,
                                   .request_digest = digest,
                                   .owner = sweep.owner,
                                   .submitted_at = context.now.wall});
  context.out.changes.Add(
      SweepChange{.id = sweep.id, .state = v1::COMPLETE, .next_point = runs, .at = context.now.wall});
  return sweep;
}

// A stage that has its result. Its fingerprint is of the sweep and the trial, and no specification has it.
Stage& AddStage(Context& context, Sweep& sweep, TrialId trial, v1::StageKind kind, const v1::TrialSpec& spec,
                DataId data, StageId train) {
  State& state = context.state;
  Stage made;
  made.id = state.stages.NextId();
  made.kind = kind;
  made.fingerprint = DigestOfHex(Sha256Hex(absl::StrCat("imported\n", sweep.id.ToString(), "\n",
                                                        trial.ToString(), "\n", v1::StageKind_Name(kind))));
  made.state = v1::SUCCEEDED;
  made.train = train;
  made.data = data;
  if (!train) made.fate = StageFate::kNoModel;
  context.out.changes.Add(StageRow{.id = made.id,
                                   .kind = kind,
                                   .fingerprint = made.fingerprint,
                                   .train_stage = train,
                                   .data = data,
                                   .spec_json = ResolvedPartJson(spec, kind)});
  const auto [stage, added] = state.stages.Add(std::move(made));
  INLIER_CHECK(added);
  ++state.counts.stages[{kind, v1::SUCCEEDED}];
  if (train) {
    state.stages.at(train).evaluations.push_back(stage->id);
  } else {
    state.models.trained[stage->id] = Trained();
  }
  RegisterStage(state, *stage, sweep);
  return *stage;
}

void AddNumbers(const v1::ImportedRun& run, RunImported& imported) {
  const auto add = [&](const std::string& name, std::uint64_t step, double value, bool final) {
    imported.numbers.push_back({.token = imported.token,
                                .name = name,
                                .step = step,
                                .value = value,
                                .final = final,
                                .at = imported.at});
  };
  std::uint64_t last = 0;
  for (const v1::ImportedCurve& curve : run.curves()) {
    for (int i = 0; i < curve.steps_size(); ++i) {
      add(curve.name(), curve.steps(i), curve.values(i), false);
      last = std::max(last, curve.steps(i));
    }
  }
  for (const auto& [name, value] : run.results()) add(name, last, value, true);
}

void AddTrial(Context& context, Sweep& sweep, std::uint64_t point, const v1::ImportedRun& run,
              const ImportedTrial& made, DataId data) {
  State& state = context.state;
  Trial& trial = state.trials.Add(Trial(state.trials.NextId()));
  trial.sweep = sweep.id;
  trial.point = point;
  trial.state = run.has_failed() ? v1::FAILED : v1::SUCCEEDED;
  trial.SetMessage(run.failed());
  TrialRow row{.id = trial.id,
               .sweep = sweep.id,
               .point = point,
               .state = trial.state,
               .message = run.failed(),
               .labels_json = LabelsJson(made.labels)};
  if (run.has_failed()) {
    trial.labels_json = row.labels_json;
    row.spec_json = ResolvedJson(made.spec);
  } else {
    trial.train = AddStage(context, sweep, trial.id, v1::TRAIN_STAGE, made.spec, data, StageId()).id;
    trial.evaluate =
        AddStage(context, sweep, trial.id, v1::EVALUATE_STAGE, made.spec, DataId(), trial.train).id;
    row.train_stage = trial.train;
    row.evaluate_stage = trial.evaluate;
    RunImported imported{.sweep = sweep.id,
                         .train = trial.train,
                         .evaluate = trial.evaluate,
                         .token = state.next_token,
                         .at = context.now.wall};
    state.next_token += 2;
    AddNumbers(run, imported);
    context.out.changes.Add(std::move(imported));
  }
  context.out.changes.Add(std::move(row));
  sweep.trials.push_back(trial.id);
  CountTrial(state, sweep, std::nullopt, trial.state);
}

std::string ImportTextOf(const Sweep& sweep) {
  return ImportText(sweep.spec.imported(), sweep.owner, sweep.submission.at);
}

void ExplainImport(const State&, const Sweep& sweep, Timestamp, v1::Explanation& of) {
  if (sweep.spec.has_imported()) Because(of, ImportTextOf(sweep), "; nothing of it ran here");
}

void DescribeImport(const Sweep& sweep, Timestamp, v1::SweepStatus& status) {
  if (sweep.spec.has_imported()) *status.mutable_imported() = sweep.spec.imported();
}

v1::ImportSweepResponse AnswerOf(const Sweep& sweep, bool changed) {
  v1::ImportSweepResponse response;
  response.set_sweep_id(sweep.id.ToString());
  response.set_changed(changed);
  response.set_name(sweep.spec.name());
  response.set_trials(sweep.trials.size());
  return response;
}

}  // namespace

absl::Status CheckImport(const v1::ImportSweepRequest& request) {
  RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  RETURN_IF_ERROR(CheckSpec(request.spec()));
  if (request.runs_size() == 0 || request.runs_size() > Limits::kImportedRunsMax)
    return absl::InvalidArgumentError(
        absl::StrCat("runs: ", request.runs_size(), " are none or too many; give 1 to ",
                     Limits::kImportedRunsMax, ", and others as an import of their own"));
  const auto measurements = MeasurementList::Of(request.spec());
  std::uint64_t numbers = 0;
  for (int i = 0; i < request.runs_size(); ++i)
    RETURN_IF_ERROR(CheckRun(request.runs(i), *measurements, PlaceOf(request.runs(i), i), numbers));
  if (numbers <= Limits::kImportedNumbersMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("runs: ", numbers, " numbers are more than ",
                                                 Limits::kImportedNumbersMax,
                                                 "; give fewer points of each curve"));
}

absl::StatusOr<v1::ImportSweepResponse> ImportSweep(Context& context, const v1::ImportSweepRequest& request,
                                                    const SweepGrid& grid, const Caller& caller) {
  State& state = context.state;
  const std::string digest = DigestOf(request);
  const Sweep* known = request.again() ? nullptr : FindImport(state, digest);
  if (known != nullptr && known->order.removed)
    return absl::FailedPreconditionError(
        absl::StrCat("the same was imported as ", known->id.ToString(), " (", known->spec.name(),
                     "), which was removed: `inlier restore ", known->id.ToString(),
                     "` brings it back, --again imports it once more"));
  if (known != nullptr) return AnswerOf(*known, /*changed=*/false);
  std::vector<ImportedTrial> trials;
  Problems problems;
  const TrialMaker maker(request.spec(), grid);
  for (int i = 0; i < request.runs_size(); ++i)
    trials.push_back(maker.Make(request.runs(i), PlaceOf(request.runs(i), i), &problems));
  RETURN_IF_ERROR(problems.ToStatus());
  Sweep& sweep = AddSweep(context, request, digest, caller);
  const DataId data = FindOrAddSource(context, "{}");  // It names no files.
  for (int i = 0; i < request.runs_size(); ++i)
    AddTrial(context, sweep, static_cast<std::uint64_t>(i), request.runs(i),
             trials[static_cast<std::size_t>(i)], data);
  Notice(context, sweep, "sweep_imported", ImportTextOf(sweep));
  ForEachFeature(&Feature::sweep_changed, context, sweep);
  context.Log("sweep_imported sweep=", sweep.id.ToString(), " name=", sweep.spec.name(),
              " runs=", request.runs_size());
  return AnswerOf(sweep, /*changed=*/true);
}

Feature ImportedSweeps() { return {.explain_sweep = ExplainImport, .describe_sweep = DescribeImport}; }

}  // namespace inlier
