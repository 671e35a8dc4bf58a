#include "cli/tables/table_writer.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/output.h"
#include "cli/tables/table_cells.h"
#include "google/protobuf/util/json_util.h"

namespace inlier {
namespace {

std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::vector<std::size_t> Widths(const Grid& grid) {
  std::vector<std::size_t> widths(grid[0].size(), 0);
  for (const auto& row : grid) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  return widths;
}

std::string Padded(const std::string& text, std::size_t width, bool right) {
  const std::string fill(width - Width(text), ' ');
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

std::string RuleText(const BoxLine& line, const std::vector<std::size_t>& widths) {
  std::string text = line.left;
  for (std::size_t i = 0; i < widths.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : line.middle, Repeat(line.along, widths[i] + 2));
  return absl::StrCat(text, line.right, "\n");
}

std::string WriteText(const v1::Table& table, const TableStyle& style) {
  const Grid grid = ToGrid(table, style.utf8 ? "±" : "+-", Markup::kPlain);
  const std::vector<std::size_t> widths = Widths(grid);
  const std::size_t labels = static_cast<std::size_t>(table.row_headings_size());
  const BoxLine top = style.utf8 ? BoxLine{"┌", "┬", "┐", "─"} : BoxLine{"+", "+", "+", "-"};
  const BoxLine middle = style.utf8 ? BoxLine{"├", "┼", "┤", "─"} : top;
  const BoxLine bottom = style.utf8 ? BoxLine{"└", "┴", "┘", "─"} : top;
  const std::string side = style.utf8 ? "│" : "|";

  std::string out;
  if (!table.title().empty()) absl::StrAppend(&out, OneLine(table.title()), "\n\n");
  if (style.boxed) absl::StrAppend(&out, RuleText(top, widths));
  for (std::size_t r = 0; r < grid.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = Padded(grid[r][i], widths[i], /*right=*/i >= labels);
      if (style.boxed) {
        absl::StrAppend(&line, side, " ", cell, " ");
      } else {
        absl::StrAppend(&line, i == 0 ? "" : "  ", cell);
      }
    }
    if (style.boxed) line += side;
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
    if (r != 0) continue;
    if (style.boxed) {
      absl::StrAppend(&out, RuleText(middle, widths));
    } else {
      for (std::size_t i = 0; i < widths.size(); ++i)
        absl::StrAppend(&out, i == 0 ? "" : "  ", Repeat(style.utf8 ? "─" : "-", widths[i]));
      out += "\n";
    }
  }
  if (style.boxed) absl::StrAppend(&out, RuleText(bottom, widths));
  const std::vector<std::string> notes = Notes(table);
  for (std::size_t i = 0; i < notes.size(); ++i) absl::StrAppend(&out, i == 0 ? "\n" : "", notes[i], "\n");
  return out;
}

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

std::string WriteMarkdown(const v1::Table& table) {
  const Grid grid = ToGrid(table, "±", Markup::kPlain);
  std::string out;
  if (!table.title().empty()) absl::StrAppend(&out, "**", MarkdownEscaped(OneLine(table.title())), "**\n\n");
  for (std::size_t r = 0; r < grid.size(); ++r) {
    out += "|";
    for (const std::string& cell : grid[r]) absl::StrAppend(&out, " ", MarkdownEscaped(cell), " |");
    out += "\n";
    if (r != 0) continue;
    out += "|";
    for (std::size_t i = 0; i < grid[0].size(); ++i)
      out += static_cast<int>(i) < table.row_headings_size() ? "---|" : "---:|";
    out += "\n";
  }
  for (const std::string& note : Notes(table)) absl::StrAppend(&out, "\n", MarkdownEscaped(note), "\n");
  return out;
}

// RFC 4180, in UTF-8; it has no control characters but ends of lines.
std::string CsvField(const std::string& exact) {
  const std::string text = Shown(exact, Layout::kLines);
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string CsvNumber(bool there, double value) { return there ? FullNumber(value) : ""; }

std::string WriteCsv(const v1::Table& table) {
  std::vector<std::string> line;
  std::string out;
  const auto flush = [&] {
    for (std::size_t i = 0; i < line.size(); ++i) absl::StrAppend(&out, i == 0 ? "" : ",", CsvField(line[i]));
    out += "\r\n";
    line.clear();
  };
  for (const std::string& heading : table.row_headings()) line.push_back(heading);
  for (const std::string& heading : table.column_headings()) {
    for (const char* part :
         {"", " std", " count", " diverged", " missing", " failed", " cancelled", " unmeasured", " published",
          " published std", " published differs in", " trials"}) {
      line.push_back(absl::StrCat(heading, part));
    }
  }
  flush();
  for (const v1::TableRow& row : table.rows()) {
    for (const std::string& label : row.labels()) line.push_back(label);
    for (const v1::TableCell& cell : row.cells()) {
      line.push_back(CsvNumber(cell.has_mean(), cell.mean()));
      line.push_back(CsvNumber(cell.has_std(), cell.std()));
      for (const std::uint32_t count : {cell.count(), cell.diverged(), cell.missing(), cell.failed(),
                                        cell.cancelled(), cell.unmeasured()})
        line.push_back(absl::StrCat(count));
      line.push_back(CsvNumber(cell.has_published_mean(), cell.published_mean()));
      line.push_back(CsvNumber(cell.has_published_std(), cell.published_std()));
      line.push_back(absl::StrJoin(cell.published_differs_in(), "; "));
      std::string trials;
      for (const std::string& trial : cell.trials())
        absl::StrAppend(&trials, trials.empty() ? "" : " ", trial);
      line.push_back(trials);
    }
    flush();
  }
  return out;
}

std::string LatexEscaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        escaped += '\\';
        escaped += c;
        break;
      case '~':
        escaped += "\\textasciitilde{}";
        break;
      case '^':
        escaped += "\\textasciicircum{}";
        break;
      case '\\':
        escaped += "\\textbackslash{}";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string WriteLatex(const v1::Table& table) {
  const Grid grid = ToGrid(table, "\\pm", Markup::kLatex);
  const std::size_t labels = static_cast<std::size_t>(table.row_headings_size());
  std::string out;
  if (!table.title().empty()) absl::StrAppend(&out, "% ", OneLine(table.title()), "\n");
  absl::StrAppend(&out, "% \\usepackage{booktabs}\n\\begin{tabular}{", std::string(labels, 'l'),
                  std::string(grid[0].size() - labels, 'r'), "}\n\\toprule\n");
  for (std::size_t r = 0; r < grid.size(); ++r) {
    for (std::size_t i = 0; i < grid[r].size(); ++i) {
      const std::string cell = r == 0 || i < labels ? LatexEscaped(grid[r][i]) : grid[r][i];
      // \\ takes a bracket or a star that follows it for its own.
      const bool guarded = i == 0 && (cell.starts_with('[') || cell.starts_with('*'));
      absl::StrAppend(&out, i == 0 ? "" : " & ", guarded ? "{}" : "", cell);
    }
    out += " \\\\\n";
    if (r == 0) out += "\\midrule\n";
  }
  out += "\\bottomrule\n";
  for (const std::string& note : Notes(table)) {
    absl::StrAppend(&out, "\\multicolumn{", grid[0].size(), "}{l}{\\footnotesize ", LatexEscaped(note),
                    "} \\\\\n");
  }
  return out + "\\end{tabular}\n";
}

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
  if (name == "text") return TableFormat::kText;
  if (name == "markdown" || name == "md") return TableFormat::kMarkdown;
  if (name == "csv") return TableFormat::kCsv;
  if (name == "latex" || name == "tex") return TableFormat::kLatex;
  if (name == "json") return TableFormat::kJson;
  return std::nullopt;
}

std::string WriteTable(const v1::Table& table, TableFormat format, const TableStyle& style) {
  switch (format) {
    case TableFormat::kText:
      return WriteText(table, style);
    case TableFormat::kMarkdown:
      return WriteMarkdown(table);
    case TableFormat::kCsv:
      return WriteCsv(table);
    case TableFormat::kLatex:
      return WriteLatex(table);
    case TableFormat::kJson:
      return WriteJson(table);
  }
  return "";
}

}  // namespace inlier
