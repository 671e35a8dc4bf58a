#include "cli/tables/table_writer.h"

#include "cli/tables/table_formats.h"
#include "google/protobuf/util/json_util.h"

namespace inlier {
namespace {

std::string WriteJson(const v1::Table& table) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(table, &json, options).ok()) return "{}\n";
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

}  // namespace

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
      return WriteJson(table);
    case TableFormat::kHtml:
      return WriteHtmlTable(table, style);
  }
  return "";
}

}  // namespace inlier
