#include "cli/table_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/output.h"
#include "google/protobuf/util/json_util.h"

namespace inlier {
namespace {

enum class Markup { kPlain, kLatex };

std::string Number(double value, std::uint32_t decimals, Markup markup) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) {
    if (markup == Markup::kLatex) return value > 0 ? "\\infty" : "-\\infty";
    return value > 0 ? "inf" : "-inf";
  }
  return absl::StrFormat("%.*f", static_cast<int>(std::min(decimals, 17u)), value);
}

// In full, as a person writes it: with as many digits as a round trip needs, and an exponent only where zeros would
// fill the place.
std::string FullNumber(double value) {
  if (!std::isfinite(value)) return Number(value, 0, Markup::kPlain);
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e15);
  char text[64];
  const auto end = std::to_chars(std::begin(text), std::end(text), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return std::string(text, end.ptr);
}

// Digits after the point that the paper prints: of the mean and the deviation those of the one with more.
std::uint32_t PublishedDecimals(const v1::TableCell& cell) {
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

// The same text in every format; only ± and the dollars differ. `with_count` adds the number of values.
std::string CellText(const v1::TableCell& cell, std::uint32_t decimals, bool with_count,
                     const std::string& plus_minus, Markup markup) {
  std::string text;
  if (cell.count() > 0) {
    text = MeanAndDeviation(cell.mean(), cell.has_std(), cell.std(), decimals, plus_minus, markup);
    if (with_count) absl::StrAppend(&text, " (n=", cell.count(), ")");
    if (cell.diverged() > 0) absl::StrAppend(&text, " (", cell.diverged(), " diverged)");
  } else if (cell.diverged() > 0) {
    text = cell.diverged() == 1 ? "DIVERGED" : absl::StrCat("DIVERGED (", cell.diverged(), ")");
  } else if (cell.missing() > 0) {
    text.push_back('-');
  }
  if (cell.missing() > 0 && text != "-") text += markup == Markup::kLatex ? "$^{*}$" : "*";
  if (cell.has_published_mean()) {
    absl::StrAppend(&text, text.empty() ? "[" : " [",
                    MeanAndDeviation(cell.published_mean(), cell.has_published_std(), cell.published_std(),
                                     PublishedDecimals(cell), plus_minus, markup),
                    "]");
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

std::string Cell(const std::string& text) { return Shown(text, Layout::kCell); }

// Headings, then rows; all with the same number of cells.
using Grid = std::vector<std::vector<std::string>>;

Grid ToGrid(const v1::Table& table, const std::string& plus_minus, Markup markup) {
  Grid grid(1);
  for (const std::string& heading : table.row_headings()) grid[0].push_back(Cell(heading));
  for (const std::string& heading : table.column_headings()) grid[0].push_back(Cell(heading));
  const bool with_counts = table.column_headings_size() > 0 && CountsOfColumns(table).empty();
  for (const v1::TableRow& row : table.rows()) {
    std::vector<std::string>& cells = grid.emplace_back();
    for (const std::string& label : row.labels()) cells.push_back(Cell(label));
    for (int i = 0; i < row.cells_size(); ++i)
      cells.push_back(CellText(row.cells(i), Decimals(table, i), with_counts, plus_minus, markup));
    cells.resize(grid[0].size());
  }
  return grid;
}

// Meaning of the marks in the cells; one line each.
std::vector<std::string> Notes(const v1::Table& table) {
  std::uint64_t missing = 0;
  bool starred = false;
  bool published = false;
  for (const v1::TableRow& row : table.rows()) {
    for (const v1::TableCell& cell : row.cells()) {
      missing += cell.missing();
      starred = starred || (cell.missing() > 0 && cell.count() + cell.diverged() > 0);
      published = published || cell.has_published_mean();
    }
  }
  std::vector<std::string> notes;
  if (missing > 0) {
    notes.push_back(absl::StrCat(
        starred ? "* and - " : "- ",
        "results are missing: the trial is unfinished, failed or cancelled, or has no such measurement (",
        missing, missing == 1 ? " value)" : " values)"));
  }
  if (published) notes.push_back("[ ] published figure");
  if (const std::string counts = CountsNote(table); !counts.empty()) notes.push_back(counts);
  return notes;
}

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
  if (!table.title().empty()) absl::StrAppend(&out, Cell(table.title()), "\n\n");
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
  if (!table.title().empty()) absl::StrAppend(&out, "**", MarkdownEscaped(Cell(table.title())), "**\n\n");
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
         {"", " std", " count", " diverged", " missing", " published", " published std", " trials"}) {
      line.push_back(absl::StrCat(heading, part));
    }
  }
  flush();
  for (const v1::TableRow& row : table.rows()) {
    for (const std::string& label : row.labels()) line.push_back(label);
    for (const v1::TableCell& cell : row.cells()) {
      line.push_back(CsvNumber(cell.has_mean(), cell.mean()));
      line.push_back(CsvNumber(cell.has_std(), cell.std()));
      for (const std::uint32_t count : {cell.count(), cell.diverged(), cell.missing()})
        line.push_back(absl::StrCat(count));
      line.push_back(CsvNumber(cell.has_published_mean(), cell.published_mean()));
      line.push_back(CsvNumber(cell.has_published_std(), cell.published_std()));
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
  if (!table.title().empty()) absl::StrAppend(&out, "% ", Cell(table.title()), "\n");
  absl::StrAppend(&out, "% \\usepackage{booktabs}\n\\begin{tabular}{", std::string(labels, 'l'),
                  std::string(grid[0].size() - labels, 'r'), "}\n\\toprule\n");
  for (std::size_t r = 0; r < grid.size(); ++r) {
    for (std::size_t i = 0; i < grid[r].size(); ++i) {
      absl::StrAppend(&out, i == 0 ? "" : " & ",
                      r == 0 || i < labels ? LatexEscaped(grid[r][i]) : grid[r][i]);
    }
    out += " \\\\\n";
    if (r == 0) out += "\\midrule\n";
  }
  out += "\\bottomrule\n\\end{tabular}\n";
  for (const std::string& note : Notes(table)) absl::StrAppend(&out, "% ", note, "\n");
  return out;
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
