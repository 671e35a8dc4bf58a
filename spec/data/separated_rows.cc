#include "spec/data/separated_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {

absl::Status SeparatedRows::Wrong(std::size_t place, const std::string& what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(file_, ":", line_, ":", place - line_begin_ + 1, ": ", what));
}

bool SeparatedRows::PassLineEnd() {
  if (text_.substr(at_).starts_with("\r\n")) ++at_;
  if (at_ >= text_.size() || text_[at_] != '\n') return false;
  ++line_;
  line_begin_ = ++at_;
  return true;
}

absl::Status SeparatedRows::ReadPlain() {
  const std::size_t end = std::min(text_.find_first_of(stops_, at_), text_.size());
  std::string_view cell = text_.substr(at_, end - at_);
  const bool ends_line = end == text_.size() || text_[end] == '\n';
  if (ends_line && cell.ends_with('\r')) cell.remove_suffix(1);
  if (commas_ && end < text_.size() && text_[end] == '"') {
    return Wrong(end,
                 "a quotation mark inside a cell that does not begin with one; put the whole cell between "
                 "quotation marks and write each mark in it twice");
  }
  if (commas_ && cell.find('\r') != std::string_view::npos) {
    return Wrong(at_ + cell.find('\r'),
                 "a carriage return alone, where lines end with a line feed; convert the file with tr "
                 "'\\r' '\\n'");
  }
  cells_.push_back(cell);
  at_ = end;
  return absl::OkStatus();
}

absl::Status SeparatedRows::ReadQuoted() {
  const std::size_t opened_line = line_, opened = at_, opened_line_begin = line_begin_;
  const std::size_t begin = ++at_;
  bool doubled = false;
  for (;; ++at_) {
    at_ = std::min(text_.find_first_of("\"\n", at_), text_.size());
    if (at_ == text_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_, ":", opened_line, ":", opened - opened_line_begin + 1,
                       ": the quotation mark that opens this cell is not closed before the end of the file; "
                       "close it, and write each mark within the cell twice"));
    }
    if (text_[at_] == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
    } else if (text_.substr(at_).starts_with("\"\"")) {
      doubled = true;
      ++at_;
    } else {
      break;
    }
  }
  std::string_view cell = text_.substr(begin, at_ - begin);
  if (doubled) {
    std::string& plain = owned_->emplace_back();
    for (std::size_t i = 0; i < cell.size(); ++i) {
      plain.push_back(cell[i]);
      if (cell[i] == '"') ++i;
    }
    cell = plain;
  }
  cells_.push_back(cell);
  ++at_;
  const std::string_view rest = text_.substr(at_);
  if (rest.empty() || rest[0] == separator_ || rest[0] == '\n' || rest.starts_with("\r\n")) return absl::OkStatus();
  return Wrong(at_, absl::StrCat("text after the quotation mark that closes the cell which begins in line ",
                                 opened_line, "; close each cell, and write each mark within it twice"));
}

absl::StatusOr<bool> SeparatedRows::Next() {
  cells_.clear();
  while (PassLineEnd()) {
  }
  if (at_ >= text_.size() || text_.substr(at_) == "\r") return false;
  row_line_ = line_;
  row_begin_ = at_;
  for (;; ++at_) {
    const bool quoted = commas_ && at_ < text_.size() && text_[at_] == '"';
    RETURN_IF_ERROR(quoted ? ReadQuoted() : ReadPlain());
    if (at_ >= text_.size() || text_[at_] != separator_) break;
  }
  PassLineEnd();
  return true;
}

}  // namespace inlier
