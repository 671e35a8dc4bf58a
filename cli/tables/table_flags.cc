#include "cli/tables/table_flags.h"

#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "cli/sweeps/axis_arguments.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/table_columns.h"

namespace inlier {
namespace {

using google::protobuf::Value;

constexpr std::uint32_t kDecimalsMax = 17;

absl::StatusOr<v1::TableColumn> ColumnOf(const std::string& text) {
  v1::TableColumn column;
  absl::string_view rest = text;
  if (const std::size_t colon = rest.rfind(':'); colon != absl::string_view::npos) {
    std::uint32_t decimals = 0;
    if (!absl::SimpleAtoi(rest.substr(colon + 1), &decimals) || decimals > kDecimalsMax) {
      return absl::InvalidArgumentError(absl::StrCat("--columns ", text,
                                                     ": decimals must be an integer from 0 to ", kDecimalsMax,
                                                     ", got \"", rest.substr(colon + 1), "\""));
    }
    column.set_decimals(decimals);
    rest = rest.substr(0, colon);
  }
  if (const std::size_t at = rest.find('@'); at != absl::string_view::npos) {
    const std::string word(rest.substr(at + 1));
    const std::map<std::string, v1::TableColumn::Statistic> known = {{"mean", v1::TableColumn::MEAN},
                                                                     {"median", v1::TableColumn::MEDIAN},
                                                                     {"best", v1::TableColumn::BEST}};
    if (!known.contains(word))
      return absl::InvalidArgumentError(absl::StrCat("--columns ", text, ": unknown statistic \"", word, "\"",
                                                     DidYouMean(word, {"mean", "median", "best"})));
    column.set_statistic(known.at(word));
    rest = rest.substr(0, at);
  }
  column.set_measurement(std::string(rest));
  return column;
}

absl::StatusOr<v1::RankCorrelation> CorrelationOf(const std::string& text) {
  v1::RankCorrelation correlation;
  absl::string_view rest = text;
  if (absl::ConsumeSuffix(&rest, "@trainings")) {
    correlation.set_points(v1::RankCorrelation::TRAININGS);
  } else {
    absl::ConsumeSuffix(&rest, "@rows");
  }
  const std::vector<std::string> headings = absl::StrSplit(rest, ',');
  if (headings.size() != 2 || headings[0].empty() || headings[1].empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--correlate ", text, ": give two headings of columns, A,B, and @trainings for a point a training"));
  }
  correlation.set_x(headings[0]);
  correlation.set_y(headings[1]);
  return correlation;
}

// A label as a file has it; empty for trials that have none.
Value LabelValue(const std::string& label) {
  if (!label.empty()) return WrittenValue(label);
  Value value;
  value.set_null_value(google::protobuf::NULL_VALUE);
  return value;
}

absl::StatusOr<std::pair<std::string, Value>> ConditionOf(const char* flag, const std::string& text,
                                                          const std::vector<std::string>& axes) {
  const auto condition = SplitCondition(text, axes);
  if (!condition) return absl::InvalidArgumentError(absl::StrCat(flag, " ", text, ": give AXIS=LABEL"));
  return std::pair(condition->first, LabelValue(condition->second));
}

}  // namespace

bool TableFlags::any() const {
  return !rows.empty() || !columns.empty() || !by.empty() || !where.empty() || !baseline.empty() ||
         !correlate.empty() || no_bold || fields.ByteSizeLong() > 0;
}

absl::Status ApplyTableFlags(const TableFlags& flags, v1::TableSpec* spec,
                             const std::vector<std::string>& axes) {
  if (!flags.rows.empty()) {
    const std::vector<std::string> rows = SplitNames(flags.rows, axes);
    spec->mutable_rows()->Assign(rows.begin(), rows.end());
    // A baseline of the table's own names rows that are not there any more.
    spec->clear_baseline();
  }
  if (!flags.columns.empty()) spec->clear_columns();
  if (!flags.columns.empty() || !flags.by.empty()) spec->clear_correlate();
  for (const std::string& column : flags.columns) {
    ASSIGN_OR_RETURN(*spec->add_columns(), ColumnOf(column));
  }
  v1::TableSpec given;
  for (const std::string& condition : flags.where) {
    ASSIGN_OR_RETURN(auto pair, ConditionOf("--where", condition, axes));
    *(*given.mutable_where())[pair.first].mutable_list_value()->add_values() = std::move(pair.second);
  }
  for (auto& [axis, labels] : given.where()) (*spec->mutable_where())[axis] = labels;
  if (!flags.baseline.empty()) spec->clear_baseline();
  for (const std::string& condition : SplitConditions(flags.baseline, axes)) {
    ASSIGN_OR_RETURN(auto pair, ConditionOf("--baseline", condition, axes));
    (*spec->mutable_baseline())[pair.first] = std::move(pair.second);
  }
  for (const std::string& text : flags.correlate) {
    ASSIGN_OR_RETURN(*spec->add_correlate(), CorrelationOf(text));
  }
  if (flags.fields.confidence() < 0.5 || flags.fields.confidence() > 0.9999)
    return absl::InvalidArgumentError("--confidence: give a number from 0.5 to 0.9999");
  spec->MergeFrom(flags.fields);
  if (flags.no_bold) spec->set_bold(false);
  return absl::OkStatus();
}

void SplitColumns(const std::string& axis, const std::vector<std::string>& labels, v1::TableSpec* spec) {
  const auto with_label = [](const std::string& heading, const std::string& label) {
    return label.empty() ? heading : absl::StrCat(heading, " ", label);
  };
  v1::TableSpec split;
  for (const v1::TableColumn& column : spec->columns()) {
    for (const std::string& label : labels) {
      v1::TableColumn* added = split.add_columns();
      *added = column;
      added->set_heading(with_label(HeadingOf(column), label));
      if (column.mean_of_size() == 0) {
        (*added->mutable_where())[axis] = LabelValue(label);
        continue;
      }
      for (Value& entry : *added->mutable_mean_of()) {
        if (entry.kind_case() != Value::kListValue) {
          entry.set_string_value(with_label(ValueText(entry), label));
          continue;
        }
        for (Value& heading : *entry.mutable_list_value()->mutable_values())
          heading.set_string_value(with_label(ValueText(heading), label));
      }
    }
  }
  spec->mutable_columns()->Swap(split.mutable_columns());
}

}  // namespace inlier
