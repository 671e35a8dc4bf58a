#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/output.h"
#include "cli/tables/table_cells.h"
#include "cli/tables/table_formats.h"

namespace inlier {
namespace {

std::size_t Width(const CellLine& cell) {
  return static_cast<std::size_t>(Columns(cell.number) + Columns(cell.rest));
}

using Grid = std::vector<std::vector<CellLine>>;

Grid ToGrid(const TableText& text, const CellStyle& style) {
  Grid grid(1);
  for (const std::string& heading : text.row_headings) grid[0].push_back({"", heading});
  for (const std::string& heading : text.column_headings) grid[0].push_back({"", heading});
  for (const TableText::Row& row : text.rows) {
    std::vector<CellLine>& cells = grid.emplace_back();
    for (const std::string& label : row.labels) cells.push_back({"", label});
    for (const CellText& cell : row.cells) cells.push_back(LineOf(cell, style));
  }
  return grid;
}

std::vector<std::size_t> Widths(const Grid& grid) {
  std::vector<std::size_t> widths(grid[0].size(), 0);
  for (const auto& row : grid) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  return widths;
}

std::string Padded(const CellLine& cell, std::size_t width, bool right) {
  const std::string fill(width - Width(cell), ' ');
  const std::string text =
      cell.number.empty() ? cell.rest : absl::StrCat("\x1b[1m", cell.number, "\x1b[0m", cell.rest);
  return right ? fill + text : text + fill;
}

constexpr std::size_t kBetween = 2;  // Spaces between two columns.

// The columns of each piece of the table: those of labels and as many others as fit, at least one.
std::vector<std::vector<std::size_t>> Pieces(const std::vector<std::size_t>& widths, std::size_t labels,
                                             int width) {
  std::vector<std::size_t> first;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < labels; ++i) {
    first.push_back(i);
    taken += widths[i] + kBetween;
  }
  std::vector<std::vector<std::size_t>> pieces = {first};
  std::size_t used = taken;
  for (std::size_t i = labels; i < widths.size(); ++i) {
    if (width > 0 && pieces.back().size() > labels && used + widths[i] > static_cast<std::size_t>(width)) {
      pieces.push_back(first);
      used = taken;
    }
    pieces.back().push_back(i);
    used += widths[i] + kBetween;
  }
  return pieces;
}

// Between words, into lines of at most `width`; those after the first are indented.
std::string Wrapped(const std::string& text, int width) {
  if (width <= 0 || Columns(text) <= width) return text;
  std::string out;
  int used = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const int columns = Columns(std::string_view(word.data(), word.size()));
    if (used > 0 && used + 1 + columns > width) {
      out += "\n ";
      used = 1;
    }
    absl::StrAppend(&out, used > 0 ? " " : "", word);
    used += columns + (used > 0 ? 1 : 0);
  }
  return out;
}

std::string PieceText(const Grid& grid, const std::vector<std::size_t>& widths, std::size_t labels,
                      const std::vector<std::size_t>& columns, bool utf8) {
  std::string out;
  for (std::size_t r = 0; r < grid.size(); ++r) {
    std::vector<std::string> cells, rules;
    for (const std::size_t column : columns) {
      cells.push_back(Padded(grid[r][column], widths[column], /*right=*/column >= labels));
      rules.push_back(absl::StrJoin(std::vector<std::string>(widths[column], utf8 ? "─" : "-"), ""));
    }
    std::string line = absl::StrJoin(cells, "  ");
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n", r == 0 ? absl::StrJoin(rules, "  ") + "\n" : "");
  }
  return out;
}

}  // namespace

std::string WriteTextTable(const v1::Table& table, const TableStyle& style) {
  const CellStyle cells = {.plus_minus = style.utf8 ? "±" : "+-",
                           .dagger = style.utf8 ? "†" : "#",
                           .times = style.utf8 ? "×" : "x",
                           .rho = style.utf8 ? "ρ" : "rho",
                           .shows_bold = style.terminal,
                           .differences = style.differences,
                           .for_terminal = true};
  const TableText text = ToText(table, cells);
  const Grid grid = ToGrid(text, cells);
  const std::vector<std::size_t> widths = Widths(grid);
  const std::size_t labels = text.row_headings.size();
  std::string out;
  if (!table.title().empty()) absl::StrAppend(&out, Wrapped(OneLine(table.title()), style.width), "\n\n");
  std::vector<std::string> pieces;
  for (const auto& columns : Pieces(widths, labels, style.width))
    pieces.push_back(PieceText(grid, widths, labels, columns, style.utf8));
  out += absl::StrJoin(pieces, "\n");
  for (std::size_t i = 0; i < text.notes.size(); ++i)
    absl::StrAppend(&out, i == 0 ? "\n" : "", Wrapped(text.notes[i], style.width), "\n");
  return out;
}

}  // namespace inlier
