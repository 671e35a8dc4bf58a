#include "results/tables/trial_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/store/sql_name.h"
#include "spec/schema/number_text.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

using google::protobuf::Value;

// Roughly the memory of a map, a vector and their strings without the texts.
constexpr std::size_t kBytesOfATrial = 400;
constexpr std::size_t kBytesOfAValue = 100;

std::string SelectNames(std::string select, const auto& names) {
  for (const std::string& name : names) absl::StrAppend(&select, ", ", SqlName(name));
  return select;
}

// Reads one row of the view trials; returns the bytes that it needs.
std::size_t ReadTrial(const std::vector<SqlValue>& row, const std::set<std::string>& columns,
                      TrialValues& trial) {
  std::size_t bytes = kBytesOfATrial;
  trial.id = Text(row[0]);
  v1::TrialState_Parse(Text(row[1]), &trial.state);
  for (const auto& [axis, label] : LabelsFromJson(Text(row[2]))) {
    trial.labels[axis] = label;
    bytes += kBytesOfAValue + axis.size() + label.size();
  }
  trial.train_stage = Text(row[3]);
  trial.evaluate_stage = Text(row[4]);
  std::size_t i = 5;
  for (const std::string& column : columns) {
    bytes += kBytesOfAValue + column.size() + Text(row[i]).size();
    trial.columns[column] = row[i++];
  }
  return bytes;
}

// True when `matches` holds for `wanted`, or for an item of it when it is a list.
template <typename Condition>
bool AnyOf(const Value& wanted, const Condition& matches) {
  if (wanted.kind_case() != Value::kListValue) return matches(wanted);
  return std::ranges::any_of(wanted.list_value().values(), matches);
}

bool ColumnMatches(const SqlValue& column, const Value& wanted) {
  return AnyOf(wanted, [&](const Value& one) {
    switch (one.kind_case()) {
      case Value::kNullValue:
        return std::holds_alternative<std::monostate>(column);
      case Value::kNumberValue:
        if (const auto* integer = std::get_if<std::int64_t>(&column))
          return static_cast<double>(*integer) == one.number_value();
        if (const auto* real = std::get_if<double>(&column)) return *real == one.number_value();
        return ParseNumber(Text(column)) == one.number_value();
      case Value::kBoolValue:
        return std::holds_alternative<std::int64_t>(column) &&
               std::get<std::int64_t>(column) == (one.bool_value() ? 1 : 0);
      case Value::kStringValue:
        return SqlText(column) == one.string_value() && !std::holds_alternative<std::monostate>(column);
      default:
        return false;
    }
  });
}

}  // namespace

absl::StatusOr<std::vector<TrialValues>> ReadTrials(Reader& reader, SweepId sweep,
                                                    const std::set<std::string>& columns,
                                                    const std::vector<std::string>& measurements,
                                                    std::size_t& bytes) {
  std::vector<TrialValues> trials;
  std::unordered_map<std::string, std::size_t> index;
  RETURN_IF_ERROR(reader.ForEach(
      SelectNames("SELECT trial, state, labels, train_stage, evaluate_stage", columns) +
          " FROM trials WHERE sweep_id = ?1 AND withdrawn = 0 ORDER BY point",
      {sweep.ToString()}, [&](const std::vector<SqlValue>& row) {
        TrialValues& trial = trials.emplace_back();
        bytes += ReadTrial(row, columns, trial) + measurements.size() * sizeof(double);
        trial.measurements.assign(measurements.size(), std::numeric_limits<double>::quiet_NaN());
        index[trial.id] = trials.size() - 1;
        if (bytes <= kTrialValuesBytesMax) return absl::OkStatus();
        return absl::ResourceExhaustedError(
            absl::StrCat("the table needs the labels and columns of more trials than fit into ",
                         kTrialValuesBytesMax >> 20, " MiB; leave out columns in rows and conditions, and ",
                         "`published`, or read inlier.db with sqlite3"));
      }));
  RETURN_IF_ERROR(
      reader.ForEach(SelectNames("SELECT trial", measurements) +
                         " FROM results WHERE sweep_id = ?1 AND withdrawn = 0 AND state = 'SUCCEEDED'",
                     {sweep.ToString()}, [&](const std::vector<SqlValue>& row) {
                       const auto found = index.find(Text(row[0]));
                       if (found == index.end()) return absl::OkStatus();  // Stored after the first query.
                       TrialValues& trial = trials[found->second];
                       trial.state = v1::SUCCEEDED;
                       for (std::size_t i = 0; i < measurements.size(); ++i) {
                         if (const auto* real = std::get_if<double>(&row[i + 1]))
                           trial.measurements[i] = *real;
                       }
                       return absl::OkStatus();
                     }));
  RETURN_IF_ERROR(reader.ForEach(
      "SELECT 't-' || trial.id FROM trial WHERE sweep = ?1 AND state = 'PENDING' AND EXISTS (SELECT 1 FROM "
      "attempt WHERE attempt.stage IN (trial.train_stage, trial.evaluate_stage))",
      {sweep.value()}, [&](const std::vector<SqlValue>& row) {
        if (const auto found = index.find(Text(row[0])); found != index.end())
          trials[found->second].started = true;
        return absl::OkStatus();
      }));
  return trials;
}

std::string SqlText(const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return absl::StrCat(*integer);
  if (const auto* real = std::get_if<double>(&value)) return FormatNumber(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "";
}

bool LabelMatches(const std::string& label, const Value& wanted) {
  return AnyOf(wanted, [&](const Value& one) {
    if (one.kind_case() == Value::kNullValue) return label.empty();
    if (label == ValueText(one)) return true;
    const std::optional<double> number = ParseNumber(label);
    return one.kind_case() == Value::kNumberValue && number.has_value() && *number == one.number_value();
  });
}

bool Matches(const TrialValues& trial, const google::protobuf::Map<std::string, Value>& where) {
  return std::ranges::all_of(where, [&](const auto& condition) {
    const auto label = trial.labels.find(condition.first);
    if (label != trial.labels.end()) return LabelMatches(label->second, condition.second);
    const auto column = trial.columns.find(condition.first);
    if (column != trial.columns.end()) return ColumnMatches(column->second, condition.second);
    return LabelMatches("", condition.second);  // An axis of another sweep.
  });
}

bool HasResult(const TrialValues& trial, const MeasurementChoice& measurement) {
  return trial.state == v1::SUCCEEDED && !std::isnan(trial.measurements[measurement.number]);
}

const std::string& StageOf(const TrialValues& trial, const MeasurementChoice& measurement) {
  return measurement.of_training ? trial.train_stage : trial.evaluate_stage;
}

NestedSummary SummaryOf(const std::vector<const TrialValues*>& trials, const MeasurementChoice& measurement) {
  std::vector<std::pair<std::string, double>> results;
  std::set<std::string> seen;
  for (const TrialValues* trial : trials) {
    if (!HasResult(*trial, measurement)) continue;
    const std::string& stage = StageOf(*trial, measurement);
    if (stage.empty() || seen.insert(stage).second)
      results.emplace_back(trial->train_stage, trial->measurements[measurement.number]);
  }
  return SummariseNested(results);
}

std::string LabelOf(const TrialValues& trial, const std::string& name) {
  if (const auto label = trial.labels.find(name); label != trial.labels.end()) return label->second;
  const auto column = trial.columns.find(name);
  return column != trial.columns.end() ? SqlText(column->second) : "";
}

}  // namespace inlier
