#include "cli/tables/table_writer.h"

#include "cli/output.h"
#include "cli/tables/table_formats.h"

namespace inlier {

std::optional<TableFormat> ParseTableFormat(std::string_view name) {
  if (name == "text" || name == "txt") return TableFormat::kText;
  if (name == "markdown" || name == "md") return TableFormat::kMarkdown;
  if (name == "csv") return TableFormat::kCsv;
  if (name == "latex" || name == "tex") return TableFormat::kLatex;
  if (name == "json") return TableFormat::kJson;
  if (name == "html" || name == "htm") return TableFormat::kHtml;
  return std::nullopt;
}

std::string WriteTable(const v1::Table& table, TableFormat format, const TableStyle& style) {
  switch (format) {
    case TableFormat::kText:
      return WriteTextTable(table, style);
    case TableFormat::kMarkdown:
      return WriteMarkdownTable(table, style);
    case TableFormat::kCsv:
      return WriteCsvTable(table);
    case TableFormat::kLatex:
      return WriteLatexTable(table, style);
    case TableFormat::kJson:
      return SpecToJson(table);
    case TableFormat::kHtml:
      return WriteHtmlTable(table, style);
  }
  return "";
}

}  // namespace inlier
