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

std::string Number(double value, std::uint32_t decimals, Markup markup) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) {
    if (markup == Markup::kLatex) return value > 0 ? "\\infty" : "-\\infty";
    return value > 0 ? "inf" : "-inf";
  }
  return absl::StrFormat("%.*f", static_cast<int>(std::min(decimals, 17u)), value);
}

}  // namespace

std::string FullNumber(double value) {
  if (!std::isfinite(value)) return Number(value, 0, Markup::kPlain);
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

std::string MeanAndDeviation(double mean, bool has_std, double std, std::uint32_t decimals,
                             const std::string& plus_minus, Markup markup) {
  std::string text = Number(mean, decimals, markup);
  if (has_std) absl::StrAppend(&text, " ", plus_minus, " ", Number(std, decimals, markup));
  return markup == Markup::kLatex ? absl::StrCat("$", text, "$") : text;
}

// Values that a cell has not, by reason.
struct Missing {
  std::uint64_t unfinished = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t unmeasured = 0;

  void Add(const v1::TableCell& cell) {
    unfinished +=
        cell.missing() - std::min(cell.missing(), cell.failed() + cell.cancelled() + cell.unmeasured());
    failed += cell.failed();
    cancelled += cell.cancelled();
    unmeasured += cell.unmeasured();
  }
  std::uint64_t all() const { return unfinished + failed + cancelled + unmeasured; }
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
  std::string Note() const {
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
    return absl::StrCat("[ ]^", MarkAt(0), lists_.size() > 1 ? "..^" + MarkAt(lists_.size() - 1) : "",
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

// The text of cells; only ± and the markup differ between formats.
struct CellStyle {
  const OtherSettings* settings;
  bool with_count;  // Add the number of values.
  std::string plus_minus;
  Markup markup;
};

std::string Raised(const std::string& mark, Markup markup) {
  return markup == Markup::kLatex ? absl::StrCat("$^{", mark, "}$") : "^" + mark;
}

std::string CellText(const v1::TableCell& cell, std::uint32_t decimals, const CellStyle& style) {
  std::string text;
  if (cell.count() > 0) {
    text =
        MeanAndDeviation(cell.mean(), cell.has_std(), cell.std(), decimals, style.plus_minus, style.markup);
    if (style.with_count) absl::StrAppend(&text, " (n=", cell.count(), ")");
    if (cell.diverged() > 0) absl::StrAppend(&text, " (", cell.diverged(), " diverged)");
    if (cell.missing() > 0) text += style.markup == Markup::kLatex ? "$^{*}$" : "*";
  } else {
    text = NoMeanText(cell);
  }
  if (cell.has_published_mean()) {
    absl::StrAppend(&text, text.empty() ? "[" : " [",
                    MeanAndDeviation(cell.published_mean(), cell.has_published_std(), cell.published_std(),
                                     PublishedDecimals(cell), style.plus_minus, style.markup),
                    "]");
    const std::string mark = style.settings->Mark(cell);
    if (!mark.empty()) text += Raised(mark, style.markup);
  }
  return text;
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
    absl::StrAppend(&names, names.empty() ? "" : ", ",
                    Shown(table.column_headings(static_cast<int>(i)), Layout::kCell));
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

std::string Values(std::uint64_t count) {
  return absl::StrCat(" (", count, count == 1 ? " value)" : " values)");
}

}  // namespace

Grid ToGrid(const v1::Table& table, const std::string& plus_minus, Markup markup) {
  Grid grid(1);
  for (const std::string& heading : table.row_headings()) grid[0].push_back(OneLine(heading));
  for (const std::string& heading : table.column_headings()) grid[0].push_back(OneLine(heading));
  const OtherSettings settings(table);
  const CellStyle style = {&settings, table.column_headings_size() > 0 && CountsOfColumns(table).empty(),
                           plus_minus, markup};
  for (const v1::TableRow& row : table.rows()) {
    std::vector<std::string>& cells = grid.emplace_back();
    for (const std::string& label : row.labels()) cells.push_back(OneLine(label));
    for (int i = 0; i < row.cells_size(); ++i)
      cells.push_back(CellText(row.cells(i), Decimals(table, i), style));
    cells.resize(grid[0].size());
  }
  return grid;
}

std::vector<std::string> Notes(const v1::Table& table) {
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
  if (starred.all() > 0) {
    std::string reasons;
    AddPart(starred.unfinished > 0, absl::StrCat(starred.unfinished, " not run yet"), &reasons);
    AddPart(starred.failed > 0, absl::StrCat(starred.failed, " failed"), &reasons);
    AddPart(starred.cancelled > 0, absl::StrCat(starred.cancelled, " cancelled"), &reasons);
    AddPart(starred.unmeasured > 0, absl::StrCat(starred.unmeasured, " not measured"), &reasons);
    notes.push_back(absl::StrCat("* without missing values: ", reasons));
  }
  if (alone.unfinished > 0) notes.push_back("- not run yet" + Values(alone.unfinished));
  if (alone.failed > 0) notes.push_back("FAILED: `inlier why TRIAL` has the reason" + Values(alone.failed));
  if (alone.cancelled > 0) notes.push_back("CANCELLED: by a person or by pruning" + Values(alone.cancelled));
  if (alone.unmeasured > 0)
    notes.push_back("n/a: no such measurement for this data, or not a number" + Values(alone.unmeasured));
  if (diverged > 0) notes.push_back("diverged: the loss was not finite; in no mean" + Values(diverged));
  if (published) notes.push_back("[ ] published figure");
  if (const std::string note = OtherSettings(table).Note(); !note.empty()) notes.push_back(note);
  if (const std::string counts = CountsNote(table); !counts.empty()) notes.push_back(counts);
  return notes;
}

}  // namespace inlier
