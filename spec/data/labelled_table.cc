#include "spec/data/labelled_table.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/data/data_folder.h"
#include "base/data/text_lines.h"
#include "base/data/utf8_text.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// One column named in the spec.
struct WantedColumn {
  const char* field;  // Below data.classification.
  std::string name;
  std::size_t index = 0;  // From 0.
};

std::vector<WantedColumn> WantedColumns(const LabelledColumns& columns) {
  std::vector<WantedColumn> wanted = {{"label_column", columns.label}, {"text_column", columns.text}};
  if (columns.pair.has_value()) wanted.push_back({"pair_column", *columns.pair});
  return wanted;
}

bool IsColumnNumber(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

std::vector<std::string_view> SplitAtTabs(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

std::string_view TrimmedCell(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \v\f\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \v\f\r") - begin + 1);
}

// True when the columns are named by numbers in place of headings.
absl::StatusOr<bool> AreNumbers(std::vector<WantedColumn>& wanted) {
  const bool numbers = IsColumnNumber(wanted[0].name);
  for (WantedColumn& column : wanted) {
    if (IsColumnNumber(column.name) != numbers) {
      const WantedColumn& number = numbers ? wanted[0] : column;
      const WantedColumn& heading = numbers ? column : wanted[0];
      return absl::InvalidArgumentError(absl::StrCat(
          "data.classification.", heading.field, ": \"", heading.name, "\" is a heading and ", number.field,
          " \"", number.name, "\" a number: name all columns by headings, or all by numbers from 1"));
    }
    std::uint32_t position = 0;
    if (!numbers) continue;
    if (!absl::SimpleAtoi(column.name, &position) || position == 0) {
      return absl::InvalidArgumentError(absl::StrCat("data.classification.", column.field, ": \"",
                                                     column.name, "\" is not a column: they count from 1"));
    }
    column.index = position - 1;
  }
  return numbers;
}

absl::Status FindHeadings(const std::vector<std::string_view>& cells, const std::string& place,
                          std::vector<WantedColumn>& wanted) {
  std::vector<std::string_view> headings;
  for (const std::string_view cell : cells) headings.push_back(TrimmedCell(cell));
  for (WantedColumn& column : wanted) {
    const auto found = std::ranges::find(headings, column.name);
    if (found == headings.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": no column \"", column.name, "\" for data.classification.", column.field,
                       " among its ", headings.size(),
                       ", which are separated by tabs; name a heading of that line, or, where the file has "
                       "no headings, all columns by their numbers from 1"));
    }
    if (std::find(found + 1, headings.end(), column.name) != headings.end()) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": two columns have the heading \"", column.name,
                                                     "\" of data.classification.", column.field,
                                                     "; rename one of them"));
    }
    column.index = found - headings.begin();
  }
  return absl::OkStatus();
}

}  // namespace

std::string LabelledTable::Place(const LabelledRow& row) const {
  return absl::StrCat(path_.string(), ":", row.line);
}

absl::StatusOr<LabelledTable> LabelledTable::Read(const std::filesystem::path& path,
                                                  const LabelledColumns& columns, const DataRoots& roots) {
  std::vector<WantedColumn> wanted = WantedColumns(columns);
  ASSIGN_OR_RETURN(const bool are_numbers, AreNumbers(wanted));
  LabelledTable table;
  table.path_ = path;
  absl::StatusOr<MappedFile> file = MappedFile::Open(path, roots);
  if (!file.ok()) return Unreadable(file.status());
  table.file_ = *std::move(file);
  std::string_view text = table.file_.bytes();
  RETURN_IF_ERROR(CheckUtf8(text, path.string()));
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());

  std::size_t width = 0;  // Cells of the first line.
  for (TextLines lines(text); lines.Next();) {
    if (lines.line().empty()) continue;
    const std::vector<std::string_view> cells = SplitAtTabs(lines.line());
    LabelledRow row;
    row.line = lines.number();
    const bool is_first = width == 0;
    if (is_first) width = cells.size();
    if (is_first && !are_numbers) {
      RETURN_IF_ERROR(FindHeadings(cells, table.Place(row), wanted));
      continue;
    }
    if (cells.size() != width) {
      return absl::InvalidArgumentError(absl::StrCat(
          table.Place(row), ": ", cells.size(), cells.size() == 1 ? " cell, and " : " cells, and ",
          are_numbers ? "the first row has " : "there are ", width, are_numbers ? "" : " headings",
          "; a tab separates two cells, so put a space for one within a text"));
    }
    for (const WantedColumn& column : wanted) {
      if (column.index < width) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          table.Place(row), ": ", width, " columns, and data.classification.", column.field, " \"",
          column.name, "\" is number ", column.index + 1, "; the columns of a row are separated by tabs"));
    }
    row.label = TrimmedCell(cells[wanted[0].index]);
    row.text = cells[wanted[1].index];
    if (wanted.size() > 2) row.pair = cells[wanted[2].index];
    if (row.label.empty() || row.label == "-") {
      return absl::InvalidArgumentError(absl::StrCat(table.Place(row), ": no label in the column \"",
                                                     columns.label, "\"; leave such rows out"));
    }
    table.rows_.push_back(row);
  }
  if (!table.rows_.empty()) return table;
  return absl::InvalidArgumentError(absl::StrCat(path.string(), ": no rows; one a line is needed",
                                                 are_numbers ? "" : ", below the headings"));
}

}  // namespace inlier
