#include "cli/tables/table_counts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/tables/table_comparison.h"
#include "spec/schema/struct_value.h"

namespace inlier {
namespace {

// Trainings; of a table without them the results.
std::uint32_t TrainingsOf(const v1::TableCell& cell) {
  return cell.has_trainings() ? cell.trainings() : cell.count();
}

// "2", "2 trainings × 3 evaluations", or "2 trainings, 5 evaluations" where some have less.
std::string CountInWords(const v1::TableCell& cell, const CellStyle& style) {
  const std::uint32_t trainings = TrainingsOf(cell);
  if (cell.evaluations() < 2) return absl::StrCat(trainings);
  const std::string of = trainings == 1 ? " training" : " trainings";
  if (cell.count() == trainings * cell.evaluations())
    return absl::StrCat(trainings, of, " ", style.times, " ", cell.evaluations(), " evaluations");
  return absl::StrCat(trainings, of, ", ", cell.count(), " evaluations");
}

// Texts, each with the headings of the columns that it is true of.
using ByText = std::vector<std::pair<std::string, std::string>>;

void AddHeading(const std::string& text, const std::string& heading, ByText* found) {
  const auto same = std::ranges::find_if(*found, [&](const auto& one) { return one.first == text; });
  if (same == found->end()) {
    found->emplace_back(text, OneLine(heading));
  } else {
    absl::StrAppend(&same->second, ", ", OneLine(heading));
  }
}

// "n = 2", or "n = 2 (ppl), 6 (W8A8)"; empty without numbers.
std::string CountsNote(const v1::Table& table, const CellStyle& style) {
  ByText found;
  for (int i = 0; i < table.column_headings_size(); ++i) {
    std::string count;
    for (const v1::TableRow& row : table.rows()) {
      if (i < row.cells_size() && row.cells(i).count() > 0) count = CountInWords(row.cells(i), style);
    }
    if (!count.empty()) AddHeading(count, table.column_headings(i), &found);
  }
  std::string note;
  for (const auto& [count, names] : found) {
    absl::StrAppend(&note, note.empty() ? "n = " : ", ", count);
    if (found.size() > 1) absl::StrAppend(&note, " (", names, ")");
  }
  return note;
}

// Some cell shows a deviation.
bool HasDeviations(const v1::Table& table) {
  return std::ranges::any_of(table.rows(), [&](const v1::TableRow& row) {
    for (int i = 0; i < row.cells_size(); ++i) {
      if (row.cells(i).has_std() && StatisticOf(table, i) == v1::TableColumn::MEAN) return true;
    }
    return false;
  });
}

// With the column's digits, or more where those would be zeros alone.
std::string SpreadNumber(double value, std::uint32_t decimals) {
  std::string text = RoundedNumber(value, decimals);
  if (value > 0 && text.find_first_not_of("0.") == std::string::npos) text = absl::StrFormat("%.1g", value);
  return text;
}

// "W8A8 ppl ± 0.01 to 0.03, norm ± 2": the least and the most of each column. `spread` gives the number of a cell that
// has one.
template <typename SpreadOf>
std::string Spreads(const v1::Table& table, const CellStyle& style, const SpreadOf& spread) {
  std::vector<std::string> parts;
  for (int i = 0; i < table.column_headings_size(); ++i) {
    std::optional<double> least, most;
    for (const v1::TableRow& row : table.rows()) {
      if (i >= row.cells_size()) continue;
      const std::optional<double> value = spread(row.cells(i));
      if (!value) continue;
      least = std::min(least.value_or(*value), *value);
      most = std::max(most.value_or(*value), *value);
    }
    if (!least) continue;
    const std::uint32_t decimals = DecimalsOf(table, i);
    const std::string low = SpreadNumber(*least, decimals), high = SpreadNumber(*most, decimals);
    parts.push_back(absl::StrCat(OneLine(table.column_headings(i)), " ", style.plus_minus, " ", low,
                                 low == high ? "" : absl::StrCat(" to ", high)));
  }
  return absl::StrJoin(parts, ", ");
}

// "MNLI-m and MNLI-mm".
std::string HeadingsOf(const google::protobuf::Value& entry) {
  if (entry.kind_case() != google::protobuf::Value::kListValue) return OneLine(ValueText(entry));
  std::vector<std::string> headings;
  for (const auto& heading : entry.list_value().values()) headings.push_back(OneLine(ValueText(heading)));
  return absl::StrJoin(headings, " and ");
}

}  // namespace

v1::TableColumn::Statistic StatisticOf(const v1::Table& table, int column) {
  return column < table.columns_size() ? table.columns(column).statistic() : v1::TableColumn::MEAN;
}

std::uint32_t DecimalsOf(const v1::Table& table, int column) {
  return column < table.decimals_size() ? table.decimals(column) : 2;
}

std::string CountOf(const v1::TableCell& cell, const CellStyle& style) {
  const std::uint32_t trainings = TrainingsOf(cell);
  if (cell.evaluations() < 2) return absl::StrCat(trainings);
  if (cell.count() == trainings * cell.evaluations())
    return absl::StrCat(trainings, style.times, cell.evaluations());
  return absl::StrCat(trainings, ", ", cell.count(), " evaluations");
}

bool CountsDiffer(const v1::Table& table) {
  for (int i = 0; i < table.column_headings_size(); ++i) {
    std::optional<std::string> count;
    for (const v1::TableRow& row : table.rows()) {
      if (i >= row.cells_size() || row.cells(i).count() == 0) continue;
      const std::string of_cell = CountInWords(row.cells(i), {});
      if (count && *count != of_cell) return true;
      count = of_cell;
    }
  }
  return false;
}

void AddStatisticNotes(const v1::Table& table, std::vector<std::string>* notes) {
  ByText found;
  const auto add = [&](const std::string& what, int column) {
    AddHeading(what, table.column_headings(column), &found);
  };
  for (const auto& [statistic, name] : {std::pair(v1::TableColumn::MEDIAN, "median"),
                                        std::pair(v1::TableColumn::BEST, "best of the values")}) {
    for (int i = 0; i < table.column_headings_size(); ++i) {
      if (StatisticOf(table, i) == statistic) add(name, i);
    }
  }
  for (int i = 0; i < std::min(table.columns_size(), table.column_headings_size()); ++i) {
    const v1::TableColumn& column = table.columns(i);
    if (column.has_best_of()) {
      add(absl::StrCat("best point of ", OneLine(absl::StrJoin(column.best_of().over(), ", ")), " by ",
                       OneLine(column.best_of().has_by() ? column.best_of().by() : column.measurement())),
          i);
    }
    if (column.mean_over_size() > 0)
      add(absl::StrCat("mean over ", OneLine(absl::StrJoin(column.mean_over(), ", "))), i);
    if (column.mean_of_size() > 0) {
      std::vector<std::string> parts;
      for (const auto& entry : column.mean_of()) parts.push_back(HeadingsOf(entry));
      add(absl::StrCat("mean of ", absl::StrJoin(parts, ", ")), i);
    }
  }
  for (const auto& [what, headings] : found) notes->push_back(absl::StrCat(what, ": ", headings));
}

void AddCountNotes(const v1::Table& table, const CellStyle& style, std::vector<std::string>* notes) {
  if (!style.differences) {
    const std::string within = Spreads(table, style, [](const v1::TableCell& cell) {
      return cell.has_within_std() ? std::optional(cell.within_std()) : std::nullopt;
    });
    if (!within.empty()) {
      notes->push_back(
          absl::StrCat("a training counts once, with the mean over its evaluations; these alone: ", within));
    }
    const std::string pooled = Spreads(table, style, [](const v1::TableCell& cell) {
      const bool compared = cell.evaluations() > 1 && cell.has_published_std() && cell.has_pooled_std();
      return compared ? std::optional(cell.pooled_std()) : std::nullopt;
    });
    if (!pooled.empty()) {
      notes->push_back(absl::StrCat("to compare with the paper's ", style.plus_minus,
                                    ", of all evaluations as equals: ", pooled));
    }
  }
  if (CountsDiffer(table)) return;
  if (const std::string counts = CountsNote(table, style); !counts.empty()) {
    const bool explained = !style.for_terminal && !style.differences && HasDeviations(table);
    notes->push_back((explained ? "mean ± standard deviation, " : "") + counts);
  }
}

void AddCorrelationNotes(const v1::Table& table, const CellStyle& style, std::vector<std::string>* notes) {
  for (const v1::TableCorrelation& found : table.correlations()) {
    const bool rows = found.points() == v1::RankCorrelation::ROWS;
    std::string text =
        absl::StrCat("Spearman's ", style.rho, " of ", OneLine(found.x()), " and ", OneLine(found.y()),
                     " over ", found.count(), rows ? " row" : " training", found.count() == 1 ? "" : "s");
    absl::StrAppend(&text, found.has_rho() ? absl::StrFormat(": %.3f", found.rho()) : ": not defined");
    if (found.has_p()) absl::StrAppend(&text, ", p ", PText(found.p()));
    notes->push_back(std::move(text));
  }
}

}  // namespace inlier
