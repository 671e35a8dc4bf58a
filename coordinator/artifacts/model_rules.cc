#include "coordinator/artifacts/model_rules.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/store/sweep_json.h"
#include "spec/program/measurement_list.h"

namespace inlier {
namespace {

// Trainings with a model and a result, with the sweeps that have them, oldest end first.
constexpr char kTrainings[] =
    "SELECT trial.sweep, trained.id, sweep.state = 'ACTIVE' OR sweep.removed_ms IS NOT NULL, "
    "min(result.value), max(result.value) FROM trial "
    "JOIN sweep ON sweep.id = trial.sweep AND sweep.freed = 0 "
    "JOIN stage AS trained ON trained.id = trial.train_stage "
    "JOIN stage AS evaluated ON evaluated.id = trial.evaluate_stage "
    "JOIN attempt ON attempt.token = trained.result_token "
    "LEFT JOIN measurement AS result ON result.token IN (trained.result_token, evaluated.result_token) "
    "AND result.name = ?1 AND result.final = 1 AND result.site = '' "
    "WHERE trained.state = 'SUCCEEDED' AND trained.fate = 'WHOLE' "
    "GROUP BY trial.sweep, trained.id ORDER BY attempt.ended_ms, trained.id";

struct Training {
  StageId id;
  std::optional<double> lowest, highest;  // Of the measurement, over its evaluations.
};

std::optional<double> Number(const SqlValue& value) {
  return std::holds_alternative<std::monostate>(value) ? std::nullopt : std::optional(Real(value));
}

absl::Status Check(const v1::ModelRules& rules) {
  if (rules.has_best() && rules.by().empty())
    return absl::InvalidArgumentError(
        "best: the best by which measurement? Name it (inlier gc --keep-best 3 --by perplexity)");
  if (!rules.by().empty() && !rules.has_best())
    return absl::InvalidArgumentError("by: it has a use with best alone (inlier gc --keep-best 3)");
  if (!rules.has_best() && !rules.has_last() && rules.keep().empty())
    return absl::InvalidArgumentError(
        "models: no rule keeps any; give one (inlier gc --keep-best, --keep-last or --keep)");
  return absl::OkStatus();
}

absl::StatusOr<Better> DirectionIn(Reader& reader, SweepId sweep, const std::string& measurement) {
  ASSIGN_OR_RETURN(const SqlRows rows,
                   reader.Select("SELECT spec FROM sweep WHERE id = ?1", {sweep.value()}));
  ASSIGN_OR_RETURN(const v1::SweepSpec spec, SweepSpecFromJson(Text(rows.rows.at(0).at(0))));
  const std::shared_ptr<const MeasurementList> list = MeasurementList::Of(spec);
  const MeasurementInfo* const info = list->Find(measurement);
  if (info != nullptr && info->final && info->better != Better::kNone) return info->better;
  return absl::InvalidArgumentError(absl::StrCat(
      "by: sweep ", sweep.ToString(), " (", spec.name(), ") has no final measurement ", measurement,
      " of which lower or higher is better; name another, or other sweeps (inlier gc --of SWEEP)"));
}

// Adds the best of `trainings` to `kept`.
void KeepBest(std::vector<Training> trainings, Better better, std::uint32_t count, std::set<StageId>& kept) {
  const auto value = [better](const Training& one) {
    return better == Better::kLower ? one.lowest : one.highest;
  };
  std::erase_if(trainings, [&](const Training& one) { return !value(one); });
  std::ranges::stable_sort(trainings, [&](const Training& a, const Training& b) {
    return better == Better::kLower ? *value(a) < *value(b) : *value(a) > *value(b);
  });
  for (const Training& one : trainings) {
    if (count-- == 0) return;
    kept.insert(one.id);
  }
}

absl::StatusOr<std::set<SweepId>> Named(Reader& reader,
                                        const google::protobuf::RepeatedPtrField<std::string>& names,
                                        const std::string& caller) {
  std::set<SweepId> sweeps;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const SweepId id, reader.FindSweep(name, caller));
    sweeps.insert(id);
  }
  return sweeps;
}

}  // namespace

absl::StatusOr<std::vector<StageId>> ModelsLetGo(Reader& reader, const v1::ModelRules& rules,
                                                 const std::string& caller) {
  RETURN_IF_ERROR(Check(rules));
  ASSIGN_OR_RETURN(const std::set<SweepId> keep, Named(reader, rules.keep(), caller));
  ASSIGN_OR_RETURN(const std::set<SweepId> of, Named(reader, rules.of(), caller));
  ASSIGN_OR_RETURN(const SqlRows rows, reader.Select(kTrainings, {rules.by()}));
  std::map<SweepId, std::vector<Training>> by_sweep;
  std::set<SweepId> whole;  // Active, or removed and perhaps to be restored.
  for (const auto& row : rows.rows) {
    const SweepId sweep(Integer(row[0]));
    by_sweep[sweep].push_back(
        {.id = StageId(Integer(row[1])), .lowest = Number(row[3]), .highest = Number(row[4])});
    if (Integer(row[2]) == 1) whole.insert(sweep);
  }
  std::set<StageId> kept, all;
  for (const auto& [sweep, trainings] : by_sweep) {
    const bool all_stay =
        whole.contains(sweep) || keep.contains(sweep) || (!of.empty() && !of.contains(sweep));
    for (const Training& one : trainings) (all_stay ? kept : all).insert(one.id);
    if (all_stay) continue;
    if (rules.has_best()) {
      ASSIGN_OR_RETURN(const Better better, DirectionIn(reader, sweep, rules.by()));
      KeepBest(trainings, better, rules.best(), kept);
    }
    const std::size_t last = std::min<std::size_t>(rules.last(), trainings.size());
    for (const Training& one : std::span(trainings).last(last)) kept.insert(one.id);
  }
  std::vector<StageId> let_go;
  std::ranges::set_difference(all, kept, std::back_inserter(let_go));
  return let_go;
}

}  // namespace inlier
