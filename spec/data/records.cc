#include "spec/data/records.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/data/data_folder.h"
#include "base/data/text_lines.h"
#include "base/data/utf8_text.h"
#include "base/json_text.h"
#include "base/status.h"
#include "spec/data/json_texts.h"
#include "spec/data/separated_rows.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

using nlohmann::json;

constexpr JsonLimits kRecordLimits = {.values_max = 10'000};
constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();

absl::Status Wrong(const std::string& place, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", what));
}

bool IsNumber(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// The nearest of the other names, or all, where they may be quoted.
std::string Others(const std::string& wanted, const std::vector<std::string>& names, const DataRoots& roots) {
  return roots.limited() ? "" : DidYouMean(wanted, names);
}

// True where the columns are named by numbers in place of headings; `indices` then gets theirs, from 0.
absl::StatusOr<bool> AreNumbers(const std::vector<RecordColumn>& columns, std::vector<std::size_t>* indices) {
  const RecordColumn& first = columns[0];
  const bool numbers = IsNumber(first.name);
  for (const RecordColumn& column : columns) {
    std::size_t& index = indices->emplace_back(kAbsent);
    if (column.content == RecordColumn::kOptional && numbers && !IsNumber(column.name)) continue;
    if (IsNumber(column.name) != numbers) {
      const RecordColumn &number = numbers ? first : column, &heading = numbers ? column : first;
      return Wrong(
          heading.setting,
          absl::StrCat("\"", heading.name, "\" is a heading and ", number.setting, " \"", number.name,
                       "\" a number: name all columns by headings, or all by numbers from 1"));
    }
    std::uint32_t position = 0;
    if (!numbers) continue;
    if (!absl::SimpleAtoi(column.name, &position) || position == 0)
      return Wrong(column.setting, absl::StrCat("\"", column.name, "\" is not a column: they count from 1"));
    index = position - 1;
  }
  return numbers;
}

// What a row of one cell was probably meant to be; empty where nothing tells.
std::string OtherSeparator(std::string_view row, bool commas) {
  if (commas && row.find('\t') != std::string_view::npos)
    return "; that line has tabs and no comma: give a file of tab-separated cells the ending .tsv";
  if (commas && row.find(';') != std::string_view::npos)
    return "; that line has semicolons and no comma: save the file with commas";
  if (!commas && row.find(',') != std::string_view::npos)
    return "; that line has commas and no tab: give a file of comma-separated cells the ending .csv";
  return "";
}

absl::Status FindHeadings(const std::vector<std::string_view>& cells, const std::string& place, bool commas,
                          const std::vector<RecordColumn>& columns, const DataRoots& roots,
                          std::vector<std::size_t>* indices) {
  std::vector<std::string> headings;
  for (const std::string_view cell : cells) headings.emplace_back(TrimmedCell(cell));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const RecordColumn& column = columns[i];
    const auto found = std::ranges::find(headings, column.name);
    if (found == headings.end()) {
      if (column.content == RecordColumn::kOptional) continue;
      return Wrong(place,
                   absl::StrCat("no column \"", column.name, "\" for ", column.setting, " among its ",
                                headings.size(), ", which are separated by ", commas ? "commas" : "tabs",
                                Others(column.name, headings, roots),
                                headings.size() == 1 ? OtherSeparator(cells[0], commas) : "",
                                "; name a heading of that line, or, where the file has no headings, all "
                                "columns by their numbers from 1"));
    }
    if (std::find(found + 1, headings.end(), column.name) != headings.end()) {
      return Wrong(place, absl::StrCat("two columns have the heading \"", column.name, "\" of ",
                                       column.setting, "; rename one of them"));
    }
    (*indices)[i] = static_cast<std::size_t>(found - headings.begin());
  }
  return absl::OkStatus();
}

// The remedy where the whole file is one object, of columns or around an array of records.
std::string OneObjectHint(const json& object, const DataRoots& roots) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_array() && !value.empty() && value[0].is_object()) {
      return absl::StrCat(
          "; the file is one object around an array: take the array out, for example with jq ",
          roots.limited() ? ".NAME" : "'.\"" + key + "\"'");
    }
    if (value.is_object() || value.is_array()) {
      return "; the file is one object with all of each column: write one object for each row, with pandas "
             "to_json(orient=\"records\")";
    }
  }
  return "";
}

// The value of a column of `object`. `hint` is for messages.
absl::StatusOr<std::string> ValueOf(const json& object, const RecordColumn& column, const std::string& place,
                                    const std::string& hint, const DataRoots& roots) {
  const auto found = object.find(column.name);
  const bool is_there = found != object.end();
  if (column.content == RecordColumn::kOptional && (!is_there || found->is_null())) return std::string();
  if (!is_there) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.push_back(key);
    return Wrong(place, absl::StrCat("no field \"", column.name, "\" among its ", object.size(),
                                     Others(column.name, keys, roots), hint,
                                     "; name the one that is wanted by ", column.setting));
  }
  const bool is_value = column.content == RecordColumn::kValue;
  if (is_value && found->is_null()) return std::string();
  if (is_value && (found->is_number() || found->is_boolean())) return found->dump();
  if (found->is_string()) return found->get<std::string>();
  return Wrong(place,
               absl::StrCat("the field \"", column.name, "\" is of type ", found->type_name(), ", and ",
                            is_value ? "a label is a string or a number" : "a text is a string", hint,
                            "; name another with ", column.setting));
}

}  // namespace

std::string_view TrimmedCell(std::string_view cell) {
  constexpr std::string_view kSpace = " \v\f\r";
  const std::size_t begin = cell.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return cell.substr(begin, cell.find_last_not_of(kSpace) - begin + 1);
}

std::string Records::Place(std::size_t row) const { return absl::StrCat(path_, ":", lines_[row]); }

absl::Status Records::ReadSeparated(std::string_view text, const RecordAccess& access) {
  const bool commas = form_ == RecordForm::kCommas;
  std::vector<std::size_t> indices;
  ASSIGN_OR_RETURN(by_numbers_, AreNumbers(columns_, &indices));
  std::size_t width = 0;  // Cells of the first row.
  SeparatedRows rows(text, path_, form_, &owned_);
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, rows.Next());
    if (!more || rows.offset() >= access.bytes_max) return absl::OkStatus();
    const std::vector<std::string_view>& cells = rows.cells();
    const std::string place = absl::StrCat(path_, ":", rows.line());
    const bool is_first = width == 0;
    if (is_first) width = cells.size();
    if (is_first && !by_numbers_) {
      RETURN_IF_ERROR(FindHeadings(cells, place, commas, columns_, access.roots, &indices));
      continue;
    }
    if (cells.size() != width) {
      return Wrong(
          place, absl::StrCat(cells.size(), cells.size() == 1 ? " cell, and " : " cells, and ",
                              by_numbers_ ? "the first row has " : "there are ", width,
                              by_numbers_ ? "" : " headings",
                              commas ? "; put a cell with a comma in it between quotation marks"
                                     : "; a tab separates two cells, so put a space for one within a text"));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (indices[i] == kAbsent || indices[i] < width) continue;
      return Wrong(place,
                   absl::StrCat(width, width == 1 ? " column, and " : " columns, and ", columns_[i].setting,
                                " \"", columns_[i].name, "\" is number ", indices[i] + 1,
                                "; the columns of a row are separated by ", commas ? "commas" : "tabs",
                                width == 1 ? OtherSeparator(cells[0], commas) : ""));
    }
    for (const std::size_t index : indices)
      values_.push_back(index == kAbsent ? std::string_view() : cells[index]);
    lines_.push_back(rows.line());
  }
}

absl::Status Records::ReadJson(std::string_view text, const RecordAccess& access) {
  JsonTexts texts(text, path_, form_);
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, texts.Next());
    if (!more || texts.offset() >= access.bytes_max) return absl::OkStatus();
    ASSIGN_OR_RETURN(const json object,
                     ParseJsonText(texts.value(), path_, texts.line(), kRecordLimits, texts.column()));
    const std::string place = absl::StrCat(path_, ":", texts.line());
    if (!object.is_object()) {
      return Wrong(place, absl::StrCat("a JSON object is needed ",
                                       form_ == RecordForm::kJsonLines ? "in every line" : "for every record",
                                       ", such as {\"", columns_[0].name, "\": \"…\"}, and this is of type ",
                                       object.type_name()));
    }
    const bool is_all = lines_.empty() && IsBlank(text.substr(texts.offset() + texts.value().size()));
    const std::string hint = is_all ? OneObjectHint(object, access.roots) : "";
    for (const RecordColumn& column : columns_) {
      ASSIGN_OR_RETURN(std::string value, ValueOf(object, column, place, hint, access.roots));
      values_.push_back(owned_.emplace_back(std::move(value)));
    }
    lines_.push_back(texts.line());
  }
}

absl::StatusOr<Records> Records::Read(const std::filesystem::path& path, RecordForm form,
                                      std::vector<RecordColumn> columns, const RecordAccess& access) {
  Records records;
  records.path_ = path.string();
  records.form_ = form;
  records.columns_ = std::move(columns);
  absl::StatusOr<MappedFile> file = MappedFile::Open(path, access.roots);
  if (!file.ok()) return Unreadable(file.status());
  records.file_ = *std::move(file);
  std::string_view text = records.file_.bytes();
  RETURN_IF_ERROR(CheckTextFile(WholeLines(text, access.bytes_max), records.path_));
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  RETURN_IF_ERROR(IsJson(form) ? records.ReadJson(text, access) : records.ReadSeparated(text, access));
  return records;
}

}  // namespace inlier
