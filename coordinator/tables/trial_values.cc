#include "coordinator/tables/trial_values.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "spec/schema/number_text.h"
#include "spec/schema/struct_value.h"

namespace inlier {
namespace {

using google::protobuf::Value;

std::string Quoted(const std::string& name) { return absl::StrCat("\"", name, "\""); }

// True when `matches` holds for `wanted`, or for one item of it when it is a list.
template <typename Condition>
bool AnyOf(const Value& wanted, const Condition& matches) {
  if (wanted.kind_case() != Value::kListValue) return matches(wanted);
  return std::any_of(wanted.list_value().values().begin(), wanted.list_value().values().end(), matches);
}

}  // namespace

absl::StatusOr<std::vector<TrialValues>> ReadTrials(Reader& reader, SweepId sweep,
                                                    const std::set<std::string>& columns,
                                                    const std::set<std::string>& measurements) {
  std::string select = "SELECT trial, state, labels";
  for (const std::string& column : columns) absl::StrAppend(&select, ", ", Quoted(column));
  ASSIGN_OR_RETURN(const SqlRows rows,
                   reader.Select(select + " FROM trials WHERE sweep_id = ?1 AND withdrawn = 0 ORDER BY point",
                                 {sweep.ToString()}));
  std::vector<TrialValues> trials;
  std::unordered_map<std::string, std::size_t> index;
  for (const std::vector<SqlValue>& row : rows.rows) {
    TrialValues& trial = trials.emplace_back();
    trial.id = std::get<std::string>(row[0]);
    v1::TrialState_Parse(std::get<std::string>(row[1]), &trial.state);
    const nlohmann::json labels =
        nlohmann::json::parse(std::get<std::string>(row[2]), nullptr, /*allow_exceptions=*/false);
    if (labels.is_object()) {
      for (const auto& [axis, label] : labels.items())
        trial.labels[axis] = label.is_string() ? label.get<std::string>() : label.dump();
    }
    std::size_t i = 3;
    for (const std::string& column : columns) trial.columns[column] = row[i++];
    index[trial.id] = trials.size() - 1;
  }

  select = "SELECT trial";
  for (const std::string& measurement : measurements) absl::StrAppend(&select, ", ", Quoted(measurement));
  ASSIGN_OR_RETURN(
      const SqlRows results,
      reader.Select(select + " FROM results WHERE sweep_id = ?1 AND withdrawn = 0 AND state = 'SUCCEEDED'",
                    {sweep.ToString()}));
  for (const std::vector<SqlValue>& row : results.rows) {
    const auto found = index.find(std::get<std::string>(row[0]));
    if (found == index.end()) continue;  // Stored after the first query.
    TrialValues& trial = trials[found->second];
    trial.state = v1::SUCCEEDED;
    std::size_t i = 1;
    for (const std::string& measurement : measurements) {
      const SqlValue& value = row[i++];
      if (const auto* real = std::get_if<double>(&value)) trial.measurements[measurement] = *real;
    }
  }
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

bool ColumnMatches(const SqlValue& column, const Value& wanted) {
  return AnyOf(wanted, [&](const Value& one) {
    switch (one.kind_case()) {
      case Value::kNullValue:
        return std::holds_alternative<std::monostate>(column);
      case Value::kNumberValue:
        if (const auto* integer = std::get_if<std::int64_t>(&column))
          return static_cast<double>(*integer) == one.number_value();
        if (const auto* real = std::get_if<double>(&column)) return *real == one.number_value();
        return false;
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

bool Matches(const TrialValues& trial, const google::protobuf::Map<std::string, Value>& where) {
  return std::all_of(where.begin(), where.end(), [&](const auto& condition) {
    const auto label = trial.labels.find(condition.first);
    if (label != trial.labels.end()) return LabelMatches(label->second, condition.second);
    const auto column = trial.columns.find(condition.first);
    return column != trial.columns.end() && ColumnMatches(column->second, condition.second);
  });
}

v1::TableCell MakeCell(const std::vector<const TrialValues*>& trials, const std::string& measurement) {
  v1::TableCell cell;
  std::vector<double> values;
  std::uint32_t diverged = 0;
  std::uint32_t missing = 0;
  for (const TrialValues* trial : trials) {
    const auto value = trial->measurements.find(measurement);
    if (trial->state == v1::DIVERGED) {
      ++diverged;
    } else if (trial->state == v1::SUCCEEDED && value != trial->measurements.end()) {
      values.push_back(value->second);
    } else {
      ++missing;
    }
    cell.add_trials(trial->id);
  }
  cell.set_count(static_cast<std::uint32_t>(values.size()));
  cell.set_diverged(diverged);
  cell.set_missing(missing);
  if (values.empty()) return cell;
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  cell.set_mean(mean);
  if (values.size() < 2) return cell;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  cell.set_std(std::sqrt(squares / static_cast<double>(values.size() - 1)));
  return cell;
}

}  // namespace inlier
