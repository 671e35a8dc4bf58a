#include "coordinator/store/sweep_matrix.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/store/views/derived_sql.h"
#include "spec/program/measurement_list.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::uint32_t kTrialsMax = 200'000;

// The indices of an axis' labels, in the order of their first use.
using LabelIndices = std::unordered_map<std::string, std::uint32_t>;

// Returns SQL of the value of a trial's measurement ?4.
absl::StatusOr<std::string> ValueSql(const v1::SweepSpec& spec, const std::string& measurement) {
  if (measurement.empty()) return std::string("NULL");
  const std::shared_ptr<const MeasurementList> measurements = MeasurementList::Of(spec);
  const MeasurementInfo* info = measurements->Find(measurement);
  if (info == nullptr || !info->final || info->axis == "site") {
    return absl::InvalidArgumentError(
        absl::StrCat("measurement: ", measurement, " is not a final measurement of a whole model; ",
                     spec.has_program() ? "the description of its program lists them"
                                        : "docs/reference/measurements.md lists them"));
  }
  return FinalValueSql(*info, "?4");
}

// Adds the labels by axis, "" where an axis does not apply.
void AddLabels(const std::string& json, std::vector<LabelIndices>& indices, v1::SweepMatrix& matrix) {
  const PointLabels labels = LabelsFromJson(json);
  for (int i = 0; i < matrix.axes_size(); ++i) {
    v1::MatrixAxis& axis = *matrix.mutable_axes(i);
    const auto at = std::ranges::find(labels, axis.name(), &PointLabels::value_type::first);
    const std::string label = at == labels.end() ? "" : at->second;
    const auto [index, is_new] = indices[static_cast<std::size_t>(i)].try_emplace(label, axis.labels_size());
    if (is_new) axis.add_labels(label);
    matrix.add_labels(index->second);
  }
}

}  // namespace

absl::StatusOr<v1::SweepMatrix> ReadMatrix(Reader& reader, const v1::GetMatrixRequest& request,
                                           const std::string& caller) {
  ASSIGN_OR_RETURN(const SweepId sweep, reader.FindSweep(request.sweep(), caller));
  ASSIGN_OR_RETURN(const SqlRows found,
                   reader.Select("SELECT spec, trials FROM sweep WHERE id = ?1", {sweep.value()}));
  if (found.rows.empty()) return absl::NotFoundError(absl::StrCat("there is no sweep ", sweep.ToString()));
  ASSIGN_OR_RETURN(const v1::SweepSpec spec, SweepSpecFromJson(Text(found.rows[0][0])));
  ASSIGN_OR_RETURN(const std::string value, ValueSql(spec, request.measurement()));

  v1::SweepMatrix matrix;
  matrix.set_trials(static_cast<std::uint64_t>(Integer(found.rows[0][1])));
  for (const std::string& name : AxisNames(spec)) matrix.add_axes()->set_name(name);
  std::vector<LabelIndices> indices(static_cast<std::size_t>(matrix.axes_size()));
  const bool measured = !request.measurement().empty();
  std::string* states = matrix.mutable_states();
  std::vector<SqlValue> values = {sweep.value(),
                                  static_cast<std::int64_t>(std::min(request.trials_max(), kTrialsMax)),
                                  static_cast<std::int64_t>(std::min<std::uint64_t>(
                                      request.first(), std::numeric_limits<std::int64_t>::max()))};
  if (measured) values.emplace_back(request.measurement());
  RETURN_IF_ERROR(reader.ForEach(
      absl::StrCat("SELECT trial.id, ", TrialStateSql(), ", labels, coalesce(trial.train_stage, 0), ", value,
                   " FROM trial", measured ? kStagesOfTrialJoin : "",
                   " WHERE trial.sweep = ?1 AND point >= 0 ORDER BY trial.id LIMIT ?2 OFFSET ?3"),
      values, [&](const std::vector<SqlValue>& row) {
        matrix.add_numbers(static_cast<std::uint64_t>(Integer(row[0])));
        v1::TrialState state = v1::PENDING;
        v1::TrialState_Parse(Text(row[1]), &state);
        states->push_back(static_cast<char>(state));
        AddLabels(Text(row[2]), indices, matrix);
        matrix.add_trainings(static_cast<std::uint64_t>(Integer(row[3])));
        const bool known = !std::holds_alternative<std::monostate>(row[4]);
        if (measured) matrix.add_values(known ? Real(row[4]) : std::numeric_limits<double>::quiet_NaN());
        return absl::OkStatus();
      }));
  return matrix;
}

}  // namespace inlier
