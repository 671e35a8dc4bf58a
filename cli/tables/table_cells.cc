#include "cli/tables/table_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/output.h"
#include "cli/tables/other_settings.h"
#include "cli/tables/table_comparison.h"
#include "cli/tables/table_counts.h"

namespace inlier {

std::string RoundedNumber(double value, std::uint32_t decimals) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const int digits = static_cast<int>(std::min(decimals, 17u));
  return std::abs(value) < 1e15 ? absl::StrFormat("%.*f", digits, value)
                                : absl::StrFormat("%.*e", digits, value);
}

std::string FullNumber(double value) {
  if (!std::isfinite(value)) return RoundedNumber(value, 0);
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e15);
  char text[64];
  const auto end = std::to_chars(std::begin(text), std::end(text), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return std::string(text, end.ptr);
}

std::string OneLine(const std::string& text) { return Shown(text, Layout::kCell); }

namespace {

// Digits after the point that the paper prints; where the cell has none, those that the numbers need.
std::uint32_t PublishedDecimals(const v1::TableCell& cell) {
  if (cell.has_published_decimals()) return cell.published_decimals();
  const auto decimals = [](double value) {
    const std::string text = FullNumber(value);
    return static_cast<std::uint32_t>(text.size() - 1 - std::min(text.find('.'), text.size() - 1));
  };
  return std::max(decimals(cell.published_mean()),
                  cell.has_published_std() ? decimals(cell.published_std()) : 0u);
}

// Values that cells lack, by reason.
struct Missing {
  std::uint64_t not_run = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t unmeasured = 0;

  void Add(const v1::TableCell& cell) {
    (cell.not_run() ? not_run : unfinished) +=
        cell.missing() - std::min(cell.missing(), cell.failed() + cell.cancelled() + cell.unmeasured());
    failed += cell.failed();
    cancelled += cell.cancelled();
    unmeasured += cell.unmeasured();
  }
  std::uint64_t all() const { return not_run + unfinished + failed + cancelled + unmeasured; }
};

void AddPart(bool there, const std::string& part, std::string* text) {
  if (there) absl::StrAppend(text, text->empty() ? "" : ", ", part);
}

// In place of a mean: a word for each reason.
std::string NoMeanText(const v1::TableCell& cell) {
  Missing missing;
  missing.Add(cell);
  std::string text;
  AddPart(cell.diverged() == 1, "DIVERGED", &text);
  AddPart(cell.diverged() > 1, absl::StrCat("DIVERGED (", cell.diverged(), ")"), &text);
  AddPart(missing.failed > 0, "FAILED", &text);
  AddPart(missing.cancelled > 0, "CANCELLED", &text);
  AddPart(missing.unmeasured > 0, "n/a", &text);
  AddPart(missing.not_run > 0, "not run", &text);
  AddPart(missing.unfinished > 0, "-", &text);
  return text;
}

double ShownValue(const v1::TableCell& cell, v1::TableColumn::Statistic statistic) {
  if (statistic == v1::TableColumn::MEDIAN) return cell.median();
  return statistic == v1::TableColumn::BEST ? cell.best() : cell.mean();
}

// The parts that all cells of a table share.
struct Context {
  const v1::Table& table;
  const CellStyle& style;
  OtherSettings settings;
  bool with_count;  // Cells have the number of their values.
};

CellText TextOf(const Context& context, int row, int column) {
  const v1::TableCell& cell = context.table.rows(row).cells(column);
  const CellStyle& style = context.style;
  const std::uint32_t decimals = DecimalsOf(context.table, column);
  CellText text;
  if (cell.count() > 0) {
    const v1::TableColumn::Statistic statistic = StatisticOf(context.table, column);
    text.number = RoundedNumber(ShownValue(cell, statistic), decimals);
    if (cell.has_std() && statistic == v1::TableColumn::MEAN)
      text.deviation = RoundedNumber(cell.std(), decimals);
    if (context.with_count) text.remark = absl::StrCat("(n=", CountOf(cell, style), ")");
    if (cell.diverged() > 0)
      absl::StrAppend(&text.remark, text.remark.empty() ? "(" : " (", cell.diverged(), " diverged)");
    if (cell.missing() > 0) text.marks += "*";
    if (IsDifferent(context.table, row, column)) text.marks += style.dagger;
    text.bold = style.shows_bold && cell.is_best();
  } else {
    text.words = NoMeanText(cell);
  }
  if (cell.has_published_mean()) {
    text.published = PublishedNumber(cell, cell.published_mean());
    if (cell.has_published_std()) text.published_deviation = PublishedNumber(cell, cell.published_std());
    text.published_mark = context.settings.Mark(cell);
  }
  return text;
}

CellText DifferenceTextOf(const Context& context, int row, int column) {
  const v1::TableRow& of_row = context.table.rows(row);
  const v1::TableCell& cell = of_row.cells(column);
  CellText text;
  if (cell.has_difference()) {
    text.words = DifferenceText(cell, DecimalsOf(context.table, column));
    if (IsDifferent(context.table, row, column)) text.marks = context.style.dagger;
  } else if (IsBaseline(context.table, row)) {
    text.words = "baseline";
  } else if (cell.count() == 0) {
    text.words = NoMeanText(cell);
  } else {
    text.words = of_row.has_baseline_row() ? "baseline without a result" : "no baseline";
  }
  return text;
}

std::vector<std::string> NotesOf(const Context& context) {
  const v1::Table& table = context.table;
  const CellStyle& style = context.style;
  Missing alone;    // In cells without a mean.
  Missing starred;  // Next to a mean.
  std::uint64_t diverged = 0;
  bool published = false;
  for (const v1::TableRow& row : table.rows()) {
    for (const v1::TableCell& cell : row.cells()) {
      (cell.count() > 0 ? starred : alone).Add(cell);
      diverged += cell.diverged();
      published = published || (cell.has_published_mean() && cell.published_differs_in_size() == 0);
    }
  }
  std::vector<std::string> notes;
  const auto add = [&notes](std::uint64_t count, const std::string& note) {
    if (count > 0) notes.push_back(absl::StrCat(note, " (", count, count == 1 ? " value)" : " values)"));
  };
  if (starred.all() > 0 && !style.differences) {
    std::string reasons;
    AddPart(starred.unfinished > 0, absl::StrCat(starred.unfinished, " not finished"), &reasons);
    AddPart(starred.failed > 0, absl::StrCat(starred.failed, " failed"), &reasons);
    AddPart(starred.cancelled > 0, absl::StrCat(starred.cancelled, " cancelled"), &reasons);
    AddPart(starred.unmeasured > 0, absl::StrCat(starred.unmeasured, " not measured"), &reasons);
    notes.push_back(absl::StrCat("* without missing values: ", reasons));
  }
  add(alone.not_run, "not run: no trial of the cell was started");
  add(alone.unfinished, "- not finished");
  add(alone.failed, style.for_terminal ? "FAILED: `inlier why TRIAL` has the reason" : "FAILED: no result");
  add(alone.cancelled, "CANCELLED: by a person or by pruning");
  add(alone.unmeasured, "n/a: no such measurement for this data, or not a number");
  add(diverged, "diverged: the loss was not finite; in no mean");
  AddBaselineNotes(table, style, &notes);
  if (!style.differences) {
    if (published) notes.push_back(style.brackets ? "[ ] published figure" : "paper: published figure");
    if (const std::string note = context.settings.Note(style.brackets); !note.empty()) notes.push_back(note);
    AddStatisticNotes(table, &notes);
    AddCorrelationNotes(table, style, &notes);
  }
  AddCountNotes(table, style, &notes);
  return notes;
}

std::string WithDeviation(const std::string& number, const std::string& deviation, const CellStyle& style) {
  return deviation.empty() ? number : absl::StrCat(number, " ", style.plus_minus, " ", deviation);
}

}  // namespace

std::string PublishedNumber(const v1::TableCell& cell, double value) {
  return RoundedNumber(value, PublishedDecimals(cell));
}

std::string CaptionOf(const v1::Table& table, const CellStyle& style) {
  std::string caption = OneLine(table.caption().empty() ? table.title() : table.caption());
  if (style.differences)
    absl::StrAppend(&caption, caption.empty() ? "" : "; ", "differences to ", BaselineName(table));
  return caption;
}

TableText ToText(const v1::Table& table, const CellStyle& style) {
  TableText text;
  for (const std::string& heading : table.row_headings()) text.row_headings.push_back(OneLine(heading));
  for (const std::string& heading : table.column_headings()) text.column_headings.push_back(OneLine(heading));
  const Context context = {table, style, OtherSettings(table), CountsDiffer(table)};
  for (int r = 0; r < table.rows_size(); ++r) {
    const v1::TableRow& row = table.rows(r);
    TableText::Row& added = text.rows.emplace_back();
    for (const std::string& label : row.labels()) added.labels.push_back(OneLine(label));
    added.labels.resize(text.row_headings.size());
    for (int i = 0; i < row.cells_size(); ++i) {
      added.cells.push_back(style.differences ? DifferenceTextOf(context, r, i) : TextOf(context, r, i));
    }
    added.cells.resize(text.column_headings.size());
  }
  text.notes = NotesOf(context);
  return text;
}

CellLine LineOf(const CellText& cell, const CellStyle& style) {
  CellLine line;
  (cell.bold ? line.number : line.rest) = WithDeviation(cell.number, cell.deviation, style);
  line.rest += cell.words;
  if (!cell.remark.empty()) absl::StrAppend(&line.rest, " ", cell.remark);
  line.rest += cell.marks;
  if (cell.published.empty()) return line;
  absl::StrAppend(&line.rest, line.number.empty() && line.rest.empty() ? "[" : " [",
                  WithDeviation(cell.published, cell.published_deviation, style), "]");
  if (!cell.published_mark.empty()) absl::StrAppend(&line.rest, "^", cell.published_mark);
  return line;
}

}  // namespace inlier
