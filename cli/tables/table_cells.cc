#include "cli/tables/table_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/output.h"

namespace inlier {
namespace {

std::string Number(double value, std::uint32_t decimals) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return absl::StrFormat("%.*f", static_cast<int>(std::min(decimals, 17u)), value);
}

}  // namespace

std::string FullNumber(double value) {
  if (!std::isfinite(value)) return Number(value, 0);
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
    const std::size_t point = text.find('.');
    return point == std::string::npos ? 0u : static_cast<std::uint32_t>(text.size() - point - 1);
  };
  return std::max(decimals(cell.published_mean()),
                  cell.has_published_std() ? decimals(cell.published_std()) : 0u);
}

// Values that a cell has not, by reason.
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

// The different settings of published figures, each list of differences once, in the order of the cells: a, b, ...
class OtherSettings {
 public:
  explicit OtherSettings(const v1::Table& table) {
    for (const v1::TableRow& row : table.rows()) {
      for (const v1::TableCell& cell : row.cells()) {
        if (!cell.has_published_mean() || cell.published_differs_in_size() == 0) continue;
        const Differences differences = Of(cell);
        if (!Contains(lists_, differences)) lists_.push_back(differences);
      }
    }
  }

  // Of a cell; empty where nothing differs.
  std::string Mark(const v1::TableCell& cell) const {
    const auto found = std::find(lists_.begin(), lists_.end(), Of(cell));
    return found == lists_.end() ? "" : MarkAt(static_cast<std::size_t>(found - lists_.begin()));
  }

  // "[ ]^a published figure of another setting: model, data; ^b also gamma"; empty without any.
  std::string Note(bool brackets) const {
    if (lists_.empty()) return "";
    Differences common = lists_.front();
    for (const Differences& list : lists_)
      std::erase_if(common, [&](const std::string& one) { return !Contains(list, one); });
    std::string text = absl::StrJoin(common, ", ");
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      Differences more = lists_[i];
      std::erase_if(more, [&](const std::string& one) { return Contains(common, one); });
      if (more.empty()) continue;
      absl::StrAppend(&text, text.empty() ? "^" : "; ^", MarkAt(i), common.empty() ? " " : " also ",
                      absl::StrJoin(more, ", "));
    }
    return absl::StrCat(brackets ? "[ ]^" : "^", MarkAt(0),
                        lists_.size() > 1 ? "..^" + MarkAt(lists_.size() - 1) : "",
                        " published figure of another setting: ", text);
  }

 private:
  using Differences = std::vector<std::string>;

  template <typename T>
  static bool Contains(const std::vector<T>& all, const T& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
  static Differences Of(const v1::TableCell& cell) {
    return {cell.published_differs_in().begin(), cell.published_differs_in().end()};
  }
  static std::string MarkAt(std::size_t i) {
    return std::string(1 + i / 26, static_cast<char>('a' + i % 26));
  }

  std::vector<Differences> lists_;
};

std::string P(double p) { return p < 0.001 ? "< 0.001" : absl::StrFormat("= %.3f", p); }

// "-0.50 [-0.61, -0.38], p = 0.013, paired p = 0.010"
std::string DifferenceText(const v1::TableCell& cell, std::uint32_t decimals) {
  std::string text = Number(cell.difference(), decimals);
  if (cell.has_difference_low()) {
    absl::StrAppend(&text, " [", Number(cell.difference_low(), decimals), ", ",
                    Number(cell.difference_high(), decimals), "]");
  }
  if (cell.has_welch_p()) absl::StrAppend(&text, ", p ", P(cell.welch_p()));
  if (cell.has_paired_p()) absl::StrAppend(&text, ", paired p ", P(cell.paired_p()));
  return text;
}

// The row is what others are compared with.
bool IsBaseline(const v1::Table& table, const v1::TableRow& row) {
  return std::all_of(table.baseline().begin(), table.baseline().end(),
                     [&](const std::string& label) {
                       return std::find(row.labels().begin(), row.labels().end(), label) !=
                              row.labels().end();
                     }) &&
         std::none_of(row.cells().begin(), row.cells().end(),
                      [](const v1::TableCell& cell) { return cell.has_difference(); });
}

bool IsDifferent(const v1::Table& table, const v1::TableCell& cell) {
  return cell.has_welch_p() && cell.welch_p() < 1 - table.confidence();
}

v1::TableColumn::Statistic StatisticOf(const v1::Table& table, int column) {
  return column < table.columns_size() ? table.columns(column).statistic() : v1::TableColumn::MEAN;
}

double ShownValue(const v1::TableCell& cell, v1::TableColumn::Statistic statistic) {
  if (statistic == v1::TableColumn::MEDIAN) return cell.median();
  return statistic == v1::TableColumn::BEST ? cell.best() : cell.mean();
}

// The numbers of values behind the means of each column, where a column has one: 0 where it has no mean. Empty:
// they differ within a column, and the cells show their own.
std::vector<std::uint32_t> CountsOfColumns(const v1::Table& table) {
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(table.column_headings_size()), 0);
  for (const v1::TableRow& row : table.rows()) {
    for (int i = 0; i < std::min(row.cells_size(), table.column_headings_size()); ++i) {
      std::uint32_t& count = counts[static_cast<std::size_t>(i)];
      if (row.cells(i).count() == 0) continue;
      if (count != 0 && count != row.cells(i).count()) return {};
      count = row.cells(i).count();
    }
  }
  return counts;
}

// "n = 2", or "n = 2 (ppl), 6 (W8A8)"; empty without means.
std::string CountsNote(const v1::Table& table) {
  std::map<std::uint32_t, std::string> columns;  // n -> the columns that have it.
  const std::vector<std::uint32_t> counts = CountsOfColumns(table);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    std::string& names = columns[counts[i]];
    absl::StrAppend(&names, names.empty() ? "" : ", ", OneLine(table.column_headings(static_cast<int>(i))));
  }
  std::string note;
  for (const auto& [count, names] : columns) {
    absl::StrAppend(&note, note.empty() ? "n = " : ", ", count);
    if (columns.size() > 1) absl::StrAppend(&note, " (", names, ")");
  }
  return note;
}

std::uint32_t Decimals(const v1::Table& table, int column) {
  return column < table.decimals_size() ? table.decimals(column) : 2;
}

std::string CountOfValues(std::uint64_t count) {
  return absl::StrCat(" (", count, count == 1 ? " value)" : " values)");
}

// The parts that all cells of a table share.
struct Context {
  const v1::Table& table;
  const CellStyle& style;
  OtherSettings settings;
  bool with_count;  // Cells have the number of their values.
};

CellText TextOf(const Context& context, const v1::TableCell& cell, int column) {
  const CellStyle& style = context.style;
  const std::uint32_t decimals = Decimals(context.table, column);
  CellText text;
  if (cell.count() > 0) {
    const v1::TableColumn::Statistic statistic = StatisticOf(context.table, column);
    text.number = Number(ShownValue(cell, statistic), decimals);
    if (cell.has_std() && statistic == v1::TableColumn::MEAN) text.deviation = Number(cell.std(), decimals);
    if (context.with_count) text.remark = absl::StrCat("(n=", cell.count(), ")");
    if (cell.diverged() > 0)
      absl::StrAppend(&text.remark, text.remark.empty() ? "(" : " (", cell.diverged(), " diverged)");
    if (cell.missing() > 0) text.marks += "*";
    if (IsDifferent(context.table, cell)) text.marks += style.dagger;
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

CellText DifferenceTextOf(const Context& context, const v1::TableRow& row, int column) {
  const v1::TableCell& cell = row.cells(column);
  CellText text;
  if (!cell.has_difference()) {
    text.words = IsBaseline(context.table, row) ? "baseline" : NoMeanText(cell);
    return text;
  }
  text.words = DifferenceText(cell, Decimals(context.table, column));
  if (IsDifferent(context.table, cell)) text.marks = context.style.dagger;
  return text;
}

std::string BaselineName(const v1::Table& table) {
  std::string name;
  for (const std::string& label : table.baseline())
    if (!label.empty()) absl::StrAppend(&name, name.empty() ? "" : ", ", OneLine(label));
  return name;
}

// "median: norm, kurtosis"
void AddStatisticNotes(const v1::Table& table, std::vector<std::string>* notes) {
  for (const auto& [statistic, name] : {std::pair(v1::TableColumn::MEDIAN, "median"),
                                        std::pair(v1::TableColumn::BEST, "best of the values")}) {
    std::vector<std::string> headings;
    for (int i = 0; i < table.column_headings_size(); ++i) {
      if (StatisticOf(table, i) == statistic) headings.push_back(OneLine(table.column_headings(i)));
    }
    if (!headings.empty()) notes->push_back(absl::StrCat(name, ": ", absl::StrJoin(headings, ", ")));
  }
}

void AddComparisonNotes(const v1::Table& table, const CellStyle& style, std::vector<std::string>* notes) {
  bool best = false;
  bool different = false;
  bool interval = false;
  bool some = false;
  for (const v1::TableRow& row : table.rows()) {
    for (const v1::TableCell& cell : row.cells()) {
      best = best || cell.is_best();
      some = some || cell.has_difference();
      different = different || IsDifferent(table, cell);
      interval = interval || cell.has_difference_low();
    }
  }
  if (best && style.shows_bold && !style.differences) {
    notes->push_back(absl::StrCat("bold: the best of its column",
                                  table.baseline_size() > 0 ? " and group" : "",
                                  " among cells without missing values"));
  }
  const std::string level = FullNumber(std::round((1 - table.confidence()) * 1e6) / 1e6);
  if (different) {
    notes->push_back(
        absl::StrCat(style.dagger, " differs from ", BaselineName(table), ": Welch's t-test, p < ", level,
                     ", not corrected for the number of cells",
                     style.for_terminal && !style.differences ? "; --differences has more" : ""));
  }
  if (!style.differences || !some) return;
  notes->push_back(absl::StrCat(
      "difference to ", BaselineName(table), ", mean minus mean",
      interval ? absl::StrFormat("; [ ] %g %% bootstrap interval", 100 * table.confidence()) : "",
      "; p: Welch's t-test, paired p: of results that agree in all but the baseline"));
}

// Some cell shows a deviation.
bool HasDeviations(const v1::Table& table) {
  return std::any_of(table.rows().begin(), table.rows().end(), [&](const v1::TableRow& row) {
    for (int i = 0; i < row.cells_size(); ++i) {
      if (row.cells(i).has_std() && StatisticOf(table, i) == v1::TableColumn::MEAN) return true;
    }
    return false;
  });
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
  if (starred.all() > 0 && !style.differences) {
    std::string reasons;
    AddPart(starred.unfinished > 0, absl::StrCat(starred.unfinished, " not finished"), &reasons);
    AddPart(starred.failed > 0, absl::StrCat(starred.failed, " failed"), &reasons);
    AddPart(starred.cancelled > 0, absl::StrCat(starred.cancelled, " cancelled"), &reasons);
    AddPart(starred.unmeasured > 0, absl::StrCat(starred.unmeasured, " not measured"), &reasons);
    notes.push_back(absl::StrCat("* without missing values: ", reasons));
  }
  if (alone.not_run > 0)
    notes.push_back("not run: no trial of the cell was started" + CountOfValues(alone.not_run));
  if (alone.unfinished > 0) notes.push_back("- not finished" + CountOfValues(alone.unfinished));
  if (alone.failed > 0) {
    notes.push_back((style.for_terminal ? "FAILED: `inlier why TRIAL` has the reason" : "FAILED: no result") +
                    CountOfValues(alone.failed));
  }
  if (alone.cancelled > 0)
    notes.push_back("CANCELLED: by a person or by pruning" + CountOfValues(alone.cancelled));
  if (alone.unmeasured > 0)
    notes.push_back("n/a: no such measurement for this data, or not a number" +
                    CountOfValues(alone.unmeasured));
  if (diverged > 0)
    notes.push_back("diverged: the loss was not finite; in no mean" + CountOfValues(diverged));
  AddComparisonNotes(table, style, &notes);
  if (!style.differences) {
    if (published) notes.push_back(style.brackets ? "[ ] published figure" : "paper: published figure");
    if (const std::string note = context.settings.Note(style.brackets); !note.empty()) notes.push_back(note);
    AddStatisticNotes(table, &notes);
  }
  if (const std::string counts = CountsNote(table); !counts.empty()) {
    const bool explained = !style.for_terminal && !style.differences && HasDeviations(table);
    notes.push_back((explained ? "mean ± standard deviation, " : "") + counts);
  }
  return notes;
}

std::string WithDeviation(const std::string& number, const std::string& deviation, const CellStyle& style) {
  return deviation.empty() ? number : absl::StrCat(number, " ", style.plus_minus, " ", deviation);
}

}  // namespace

std::string PublishedNumber(const v1::TableCell& cell, double value) {
  return Number(value, PublishedDecimals(cell));
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
  const Context context = {table, style, OtherSettings(table),
                           table.column_headings_size() > 0 && CountsOfColumns(table).empty()};
  for (const v1::TableRow& row : table.rows()) {
    TableText::Row& added = text.rows.emplace_back();
    for (const std::string& label : row.labels()) added.labels.push_back(OneLine(label));
    added.labels.resize(text.row_headings.size());
    for (int i = 0; i < row.cells_size(); ++i) {
      added.cells.push_back(style.differences ? DifferenceTextOf(context, row, i)
                                              : TextOf(context, row.cells(i), i));
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
