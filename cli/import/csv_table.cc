#include "cli/import/csv_table.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/data/separated_rows.h"

namespace inlier {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

char DelimiterOf(std::string_view text) {
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char one : {',', ';', '\t'}) {
    bool quoted = false;
    const auto count = std::ranges::count_if(line, [&](char c) {
      if (c == '"') quoted = !quoted;
      return c == one && !quoted;
    });
    if (count > most) {
      most = count;
      best = one;
    }
  }
  return best;
}

// "file:3:7" of a byte.
std::string PlaceOfByte(std::string_view text, std::size_t byte, const std::string& file) {
  const std::string_view before = text.substr(0, byte);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0.
  return absl::StrCat(file, ":", 1 + std::ranges::count(before, '\n'), ":", byte - line_begin + 1);
}

absl::Status CheckHeadings(const std::vector<std::string>& headings, const std::string& place) {
  std::set<std::string> seen;
  for (const std::string& heading : headings) {
    if (!heading.empty() && !seen.insert(heading).second)
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": two columns have the heading ", Quoted(heading), "; rename one of them"));
  }
  return absl::OkStatus();
}

// What a file is by its first bytes where that is no text, with the remedy; empty: not known.
std::string OtherFormat(std::string_view text) {
  if (text.starts_with("\x1f\x8b")) return "is compressed (gzip); unpack it first";
  if (text.starts_with("PK\x03\x04")) return "is a spreadsheet or a zip file; save the table as CSV";
  if (text.starts_with("SQLite format 3"))
    return "is a database of SQLite; export a table as CSV, of MLflow's by mlflow.search_runs().to_csv(FILE)";
  return "";
}

// Without the spaces around each.
std::vector<std::string> Stripped(const std::vector<std::string_view>& cells) {
  std::vector<std::string> stripped;
  for (const std::string_view cell : cells)
    stripped.emplace_back(absl::StripAsciiWhitespace(absl::string_view(cell.data(), cell.size())));
  return stripped;
}

}  // namespace

std::size_t CsvTable::Find(std::string_view heading) const {
  return static_cast<std::size_t>(std::ranges::find(headings, heading) - headings.begin());
}

absl::StatusOr<CsvTable> ParseCsv(std::string_view text, const std::string& file,
                                  const std::string& delimiter) {
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  if (delimiter.size() > 1)
    return absl::InvalidArgumentError(
        absl::StrCat("delimiter: ", Quoted(delimiter), " is not one character, such as ;"));
  if (const std::string other = OtherFormat(text); !other.empty())
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", other));
  if (const std::size_t valid = ValidUtf8Prefix(text); valid < text.size())
    return absl::InvalidArgumentError(PlaceOfByte(text, valid, file) +
                                      ": is not UTF-8; save the file as UTF-8");
  CsvTable table;
  std::deque<std::string> owned;
  SeparatedRows rows(text, file, RecordForm::kCommas, &owned,
                     delimiter.empty() ? DelimiterOf(text) : delimiter[0]);
  while (true) {
    ASSIGN_OR_RETURN(const bool more, rows.Next());
    if (!more) break;
    std::vector<std::string> cells = Stripped(rows.cells());
    const std::string place = absl::StrCat(file, ":", rows.line());
    if (table.headings.empty()) {
      RETURN_IF_ERROR(CheckHeadings(cells, place));
      table.headings = std::move(cells);
    } else if (cells.size() == table.headings.size()) {
      table.rows.push_back({rows.line(), std::move(cells)});
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": has ", cells.size(), " cells, and there are ", table.headings.size(),
                       " headings; correct that line, or is the file incomplete?"));
    }
  }
  if (!table.rows.empty()) return table;
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": has no rows; the first line has headings, each further one is a run"));
}

}  // namespace inlier
