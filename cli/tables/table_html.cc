#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/tables/table_cells.h"
#include "cli/tables/table_formats.h"

namespace inlier {
namespace {

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

// "^a" raised: a mark of small letters, which ends a word.
std::string WithRaisedMarks(const std::string& escaped) {
  std::string text;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    std::size_t end = i + 1;
    while (end < escaped.size() && escaped[end] >= 'a' && escaped[end] <= 'z') ++end;
    if (escaped[i] != '^' || end == i + 1) {
      text += escaped[i];
      continue;
    }
    absl::StrAppend(&text, "<sup>", escaped.substr(i + 1, end - i - 1), "</sup>");
    i = end - 1;
  }
  return text;
}

// A cell of a kind, for example `th scope="row"`.
std::string Cell(const std::string& kind, const std::string& style, const std::string& content) {
  return absl::StrCat("<", kind, " style=\"padding:0.2em 0.6em;", style, "\">", content, "</",
                      kind.substr(0, 2), ">");
}

}  // namespace

std::string WriteHtmlTable(const v1::Table& table, const TableStyle& style) {
  const CellStyle cells = {.differences = style.differences, .for_terminal = false};
  const TableText text = ToText(table, cells);
  std::string out =
      "<div class=\"inlier-table\" style=\"overflow-x:auto\">\n"
      "<table style=\"border-collapse:collapse;font-variant-numeric:tabular-nums\">\n";
  const std::string caption = CaptionOf(table, cells);
  if (!caption.empty()) {
    absl::StrAppend(&out, "<caption style=\"text-align:left;padding:0.4em 0.6em\">", Escaped(caption),
                    "</caption>\n");
  }
  out += "<thead style=\"border-top:2px solid;border-bottom:1px solid\"><tr>";
  for (const std::string& heading : text.row_headings)
    out += Cell("th scope=\"col\"", "text-align:left", Escaped(heading));
  for (const std::string& heading : text.column_headings)
    out += Cell("th scope=\"col\"", "text-align:right", Escaped(heading));
  out += "</tr></thead>\n<tbody style=\"border-bottom:2px solid\">\n";
  for (const TableText::Row& row : text.rows) {
    out += "<tr>";
    for (const std::string& label : row.labels)
      out += Cell("th scope=\"row\"", "text-align:left;font-weight:normal", Escaped(label));
    for (const CellText& cell : row.cells) {
      const CellLine line = LineOf(cell, cells);
      const std::string bold = line.number.empty() ? "" : absl::StrCat("<b>", Escaped(line.number), "</b>");
      out += Cell("td", "text-align:right;white-space:nowrap", bold + WithRaisedMarks(Escaped(line.rest)));
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n";
  for (const std::string& note : text.notes)
    absl::StrAppend(&out, "<p style=\"margin:0.2em 0.6em;font-size:85%\">", WithRaisedMarks(Escaped(note)),
                    "</p>\n");
  return out + "</div>\n";
}

}  // namespace inlier
