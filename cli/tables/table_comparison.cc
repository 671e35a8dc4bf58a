#include "cli/tables/table_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace inlier {
namespace {

constexpr char kTest[] = "t-test (of a perplexity: on losses)";

bool IsSmallP(const v1::Table& table, const v1::TableCell& cell) {
  const double welch_p = cell.has_welch_p() ? cell.welch_p() : 1;
  return (cell.has_paired_p() ? cell.paired_p() : welch_p) < 1 - table.confidence();
}

// The statistics of a table's cells; `bootstrap` is of a cell that is not paired.
struct Seen {
  bool best = false, different = false, few = false, paired = false, paired_interval = false;
  bool unpaired = false, bootstrap = false;
};

Seen SeenIn(const v1::Table& table) {
  Seen seen;
  for (int row = 0; row < table.rows_size(); ++row) {
    for (int column = 0; column < table.rows(row).cells_size(); ++column) {
      const v1::TableCell& cell = table.rows(row).cells(column);
      seen.best |= cell.is_best();
      if (IsSmallP(table, cell)) (IsDifferent(table, row, column) ? seen.different : seen.few) = true;
      seen.paired |= cell.pairs() > 0;
      seen.paired_interval |= cell.has_paired_low();
      seen.unpaired |= cell.has_difference() && cell.pairs() == 0;
      seen.bootstrap |= cell.has_difference_low() && cell.pairs() == 0;
    }
  }
  return seen;
}

std::string Bracketed(double low, double high, std::uint32_t decimals) {
  return absl::StrCat(" [", RoundedNumber(low, decimals), ", ", RoundedNumber(high, decimals), "]");
}

}  // namespace

std::string PText(double p) { return p < 0.001 ? "< 0.001" : absl::StrFormat("= %.3f", p); }

std::string BaselineName(const v1::Table& table) {
  std::string name;
  for (const std::string& label : table.baseline()) {
    if (!label.empty()) absl::StrAppend(&name, name.empty() ? "" : ", ", OneLine(label));
  }
  return name;
}

bool IsBaseline(const v1::Table& table, int row) {
  return table.rows(row).has_baseline_row() &&
         table.rows(row).baseline_row() == static_cast<std::uint32_t>(row);
}

bool IsDifferent(const v1::Table& table, int row, int column) {
  const v1::TableCell& cell = table.rows(row).cells(column);
  const int baseline = static_cast<int>(table.rows(row).baseline_row());
  return IsSmallP(table, cell) &&
         (cell.has_paired_p() ? cell.pairs()
                              : std::min(cell.trainings(), table.rows(baseline).cells(column).trainings())) >=
             kTestedTrainingsMin;
}

std::string DifferenceText(const v1::TableCell& cell, std::uint32_t decimals) {
  if (cell.pairs() == 0) {
    std::string text = RoundedNumber(cell.difference(), decimals);
    if (cell.has_difference_low()) text += Bracketed(cell.difference_low(), cell.difference_high(), decimals);
    if (cell.has_pairs()) text += ", not paired";
    if (cell.has_welch_p()) absl::StrAppend(&text, ", p ", PText(cell.welch_p()));
    return text;
  }
  std::string text = RoundedNumber(cell.paired_difference(), decimals);
  if (cell.has_paired_low()) text += Bracketed(cell.paired_low(), cell.paired_high(), decimals);
  absl::StrAppend(&text, ", ", cell.pairs(), cell.pairs() == 1 ? " pair" : " pairs");
  if (cell.has_paired_p()) absl::StrAppend(&text, ", p ", PText(cell.paired_p()));
  return text;
}

void AddBaselineNotes(const v1::Table& table, const CellStyle& style, std::vector<std::string>* notes) {
  const Seen seen = SeenIn(table);
  const std::string name = BaselineName(table);
  if (seen.best && style.shows_bold && !style.differences) {
    notes->push_back(absl::StrCat("bold: the best of its column",
                                  table.baseline_size() > 0 ? " and group" : "",
                                  " among cells without missing values"));
  }
  if (seen.different) {
    const std::string level = FullNumber(std::round((1 - table.confidence()) * 1e6) / 1e6);
    notes->push_back(
        absl::StrCat(style.dagger, " differs from ", name, ": ", kTest, ", ",
                     "paired where trainings have seeds in common, else Welch's; p < ", level,
                     ", not corrected for the number of cells",
                     style.for_terminal && !style.differences ? "; --differences has more" : ""));
  }
  if (seen.few) {
    notes->push_back(absl::StrCat("no ", style.dagger, " for fewer than ", kTestedTrainingsMin,
                                  " pairs of trainings, or ", kTestedTrainingsMin, " trainings a side"));
  }
  const double percent = 100 * table.confidence();
  if (style.differences && seen.paired) {
    notes->push_back(absl::StrCat(
        "difference to ", name, ": mean over pairs of trainings that agree in all but the baseline",
        seen.paired_interval ? absl::StrFormat("; [ ] %g %% interval of Student's t; p: paired ", percent)
                             : "",
        seen.paired_interval ? kTest : ""));
  }
  if (style.differences && seen.unpaired) {
    notes->push_back(absl::StrCat(
        seen.paired ? "without pairs" : absl::StrCat("difference to ", name), ": mean minus mean",
        seen.bootstrap ? absl::StrFormat("; [ ] %g %% bootstrap interval; p: Welch's ", percent) : "",
        seen.bootstrap ? kTest : ""));
  }
  for (const std::string& note : table.comparison_notes()) notes->push_back(OneLine(note));
}

}  // namespace inlier
