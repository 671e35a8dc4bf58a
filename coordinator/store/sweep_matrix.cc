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
#include "nlohmann/json.hpp"
#include "spec/program/measurement_list.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::uint32_t kTrialsMax = 200'000;

// Gives each label of an axis its index, in the order of their first use.
class AxisLabels {
 public:
  explicit AxisLabels(v1::MatrixAxis& axis) : axis_(axis) {}

  std::uint32_t IndexOf(const std::string& label) {
    const auto [at, is_new] = indices_.try_emplace(label, static_cast<std::uint32_t>(indices_.size()));
    if (is_new) axis_.add_labels(label);
    return at->second;
  }

 private:
  v1::MatrixAxis& axis_;
  std::unordered_map<std::string, std::uint32_t> indices_;
};

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
void AddLabels(const std::string& json, std::vector<AxisLabels>& axes, v1::SweepMatrix& matrix) {
  const auto labels = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  for (int i = 0; i < matrix.axes_size(); ++i) {
    const auto at = labels.is_object() ? labels.find(matrix.axes(i).name()) : labels.end();
    const bool known = at != labels.end();
    matrix.add_labels(axes[static_cast<std::size_t>(i)].IndexOf(!known            ? std::string()
                                                                : at->is_string() ? at->get<std::string>()
                                                                                  : at->dump()));
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
  const std::vector<std::string> names = AxisNames(spec);
  for (const std::string& name : names) matrix.add_axes()->set_name(name);
  std::vector<AxisLabels> axes;
  for (v1::MatrixAxis& axis : *matrix.mutable_axes()) axes.emplace_back(axis);
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
        AddLabels(Text(row[2]), axes, matrix);
        matrix.add_trainings(static_cast<std::uint64_t>(Integer(row[3])));
        const bool known = !std::holds_alternative<std::monostate>(row[4]);
        if (measured) matrix.add_values(known ? Real(row[4]) : std::numeric_limits<double>::quiet_NaN());
        return absl::OkStatus();
      }));
  return matrix;
}

}  // namespace inlier
