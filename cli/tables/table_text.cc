#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/output.h"
#include "cli/tables/table_cells.h"
#include "cli/tables/table_formats.h"

namespace inlier {
namespace {

std::size_t Width(const std::string& text) { return static_cast<std::size_t>(Columns(text)); }

// A cell as printed; `bold` is the beginning of it.
struct Printed {
  std::string bold;
  std::string rest;
  std::size_t width() const { return Width(bold) + Width(rest); }
};
using Grid = std::vector<std::vector<Printed>>;

Grid ToGrid(const TableText& text, const CellStyle& style) {
  Grid grid(1);
  for (const std::string& heading : text.row_headings) grid[0].push_back({"", heading});
  for (const std::string& heading : text.column_headings) grid[0].push_back({"", heading});
  for (const TableText::Row& row : text.rows) {
    std::vector<Printed>& cells = grid.emplace_back();
    for (const std::string& label : row.labels) cells.push_back({"", label});
    for (const CellText& cell : row.cells) {
      CellLine line = LineOf(cell, style);
      cells.push_back({std::move(line.number), std::move(line.rest)});
    }
  }
  return grid;
}

std::vector<std::size_t> Widths(const Grid& grid) {
  std::vector<std::size_t> widths(grid[0].size(), 0);
  for (const auto& row : grid) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].width());
  }
  return widths;
}

std::string Padded(const Printed& cell, std::size_t width, bool right) {
  const std::string fill(width - cell.width(), ' ');
  const std::string text =
      cell.bold.empty() ? cell.rest : absl::StrCat("\x1b[1m", cell.bold, "\x1b[0m", cell.rest);
  return right ? fill + text : text + fill;
}

std::string Repeat(const std::string& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

// The lines of a box: left, between and right of the columns, and along them.
struct BoxLine {
  const char* left;
  const char* middle;
  const char* right;
  const char* along;
};

std::string RuleText(const BoxLine& line, const std::vector<std::size_t>& widths,
                     const std::vector<std::size_t>& columns) {
  std::string text = line.left;
  for (std::size_t i = 0; i < columns.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : line.middle, Repeat(line.along, widths[columns[i]] + 2));
  return absl::StrCat(text, line.right, "\n");
}

// The columns of each piece of the table: those of labels and as many others as fit, at least one.
std::vector<std::vector<std::size_t>> Pieces(const std::vector<std::size_t>& widths, std::size_t labels,
                                             std::size_t between, int width) {
  std::vector<std::size_t> first;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < labels; ++i) {
    first.push_back(i);
    taken += widths[i] + between;
  }
  std::vector<std::vector<std::size_t>> pieces = {first};
  std::size_t used = taken;
  for (std::size_t i = labels; i < widths.size(); ++i) {
    if (width > 0 && pieces.back().size() > labels && used + widths[i] > static_cast<std::size_t>(width)) {
      pieces.push_back(first);
      used = taken;
    }
    pieces.back().push_back(i);
    used += widths[i] + between;
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

struct Lines {
  BoxLine top, middle, bottom;
  std::string side;
};

std::string PieceText(const Grid& grid, const std::vector<std::size_t>& widths, std::size_t labels,
                      const std::vector<std::size_t>& columns, const Lines& lines, const TableStyle& style) {
  std::string out;
  if (style.boxed) absl::StrAppend(&out, RuleText(lines.top, widths, columns));
  for (std::size_t r = 0; r < grid.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t column = columns[i];
      const std::string cell = Padded(grid[r][column], widths[column], /*right=*/column >= labels);
      if (style.boxed) {
        absl::StrAppend(&line, lines.side, " ", cell, " ");
      } else {
        absl::StrAppend(&line, i == 0 ? "" : "  ", cell);
      }
    }
    if (style.boxed) line += lines.side;
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
    if (r != 0) continue;
    if (style.boxed) {
      absl::StrAppend(&out, RuleText(lines.middle, widths, columns));
    } else {
      for (std::size_t i = 0; i < columns.size(); ++i)
        absl::StrAppend(&out, i == 0 ? "" : "  ", Repeat(style.utf8 ? "─" : "-", widths[columns[i]]));
      out += "\n";
    }
  }
  if (style.boxed) absl::StrAppend(&out, RuleText(lines.bottom, widths, columns));
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
  const BoxLine top = style.utf8 ? BoxLine{"┌", "┬", "┐", "─"} : BoxLine{"+", "+", "+", "-"};
  const BoxLine middle = style.utf8 ? BoxLine{"├", "┼", "┤", "─"} : top;
  const BoxLine bottom = style.utf8 ? BoxLine{"└", "┴", "┘", "─"} : top;
  const Lines lines = {top, middle, bottom, style.utf8 ? "│" : "|"};
  std::string out;
  if (!table.title().empty()) absl::StrAppend(&out, Wrapped(OneLine(table.title()), style.width), "\n\n");
  bool first = true;
  for (const auto& columns : Pieces(widths, labels, style.boxed ? 3 : 2, style.width)) {
    absl::StrAppend(&out, first ? "" : "\n", PieceText(grid, widths, labels, columns, lines, style));
    first = false;
  }
  for (std::size_t i = 0; i < text.notes.size(); ++i)
    absl::StrAppend(&out, i == 0 ? "\n" : "", Wrapped(text.notes[i], style.width), "\n");
  return out;
}

}  // namespace inlier
