// Rows of separated cells, one after another, each with its line.
//
//   kTabs    cells between tabs, rows between lines; a quotation mark is text
//   kCommas  RFC 4180: cells between commas, or another separator; one in quotation marks may hold commas, ends of lines and, doubled, the mark
//
// Rows end with "\n" or "\r\n", the last one also with the file. Lines without a byte are skipped.
//
// Thread safety: a reader belongs to one thread; it points into the text.
#ifndef INLIER_SPEC_DATA_SEPARATED_ROWS_H_
#define INLIER_SPEC_DATA_SEPARATED_ROWS_H_

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/record_form.h"

namespace inlier {

class SeparatedRows {
 public:
  // `owned` gets the cells that are not verbatim parts of `text`. REQUIRES: kTabs or kCommas.
  SeparatedRows(std::string_view text, std::string file, RecordForm form, std::deque<std::string>* owned,
                char separator = ',')
      : text_(text),
        file_(std::move(file)),
        commas_(form == RecordForm::kCommas),
        separator_(commas_ ? separator : '\t'),
        stops_(std::string(commas_ ? "\n\"" : "\n") + separator_),
        owned_(owned) {}

  // Moves to the next row; false after the last one. InvalidArgument with file, line and column where quotation marks
  // are not as they must be.
  absl::StatusOr<bool> Next();

  const std::vector<std::string_view>& cells() const { return cells_; }
  // Where the row begins: its line from 1, and its first byte.
  std::size_t line() const { return row_line_; }
  std::size_t offset() const { return row_begin_; }

 private:
  absl::Status ReadQuoted();
  absl::Status ReadPlain();
  // Passes the end of a line at the current place; false where there is none.
  bool PassLineEnd();
  // "<file>:<line>:<column>: <what>" of the byte at `place`, on the current line.
  absl::Status Wrong(std::size_t place, const std::string& what) const;

  const std::string_view text_;
  const std::string file_;
  const bool commas_;
  const char separator_;
  const std::string stops_;  // What ends a cell without quotation marks.
  std::deque<std::string>* const owned_;
  std::vector<std::string_view> cells_;
  std::size_t at_ = 0;
  std::size_t line_ = 1, line_begin_ = 0;  // Of `at_`.
  std::size_t row_line_ = 0, row_begin_ = 0;
};

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_SEPARATED_ROWS_H_
