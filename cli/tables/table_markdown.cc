#include <string>

#include "absl/strings/str_cat.h"
#include "cli/tables/table_cells.h"
#include "cli/tables/table_formats.h"

namespace inlier {
namespace {

// No link, image, HTML, character reference or emphasis of its own; brackets are those of published figures, too,
// and a link needs what follows them.
std::string MarkdownEscaped(const std::string& text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool link = c == ']' && i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == '[');
    if (link || c == '|' || c == '*' || c == '_' || c == '\\' || c == '`' || c == '<' || c == '&' || c == '~')
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string WriteMarkdownTable(const v1::Table& table, const TableStyle& style) {
  const CellStyle cells = {.differences = style.differences, .for_terminal = false};
  const TableText text = ToText(table, cells);
  std::string out;
  if (!table.title().empty()) absl::StrAppend(&out, "**", MarkdownEscaped(OneLine(table.title())), "**\n\n");
  out += "|";
  for (const std::string& heading : text.row_headings)
    absl::StrAppend(&out, " ", MarkdownEscaped(heading), " |");
  for (const std::string& heading : text.column_headings)
    absl::StrAppend(&out, " ", MarkdownEscaped(heading), " |");
  out += "\n|";
  for (std::size_t i = 0; i < text.row_headings.size(); ++i) out += "---|";
  for (std::size_t i = 0; i < text.column_headings.size(); ++i) out += "---:|";
  out += "\n";
  for (const TableText::Row& row : text.rows) {
    out += "|";
    for (const std::string& label : row.labels) absl::StrAppend(&out, " ", MarkdownEscaped(label), " |");
    for (const CellText& cell : row.cells) {
      const CellLine line = LineOf(cell, cells);
      const std::string bold =
          line.number.empty() ? "" : absl::StrCat("**", MarkdownEscaped(line.number), "**");
      absl::StrAppend(&out, " ", bold, MarkdownEscaped(line.rest), " |");
    }
    out += "\n";
  }
  for (const std::string& note : text.notes) absl::StrAppend(&out, "\n", MarkdownEscaped(note), "\n");
  return out;
}

}  // namespace inlier
