// The texts of the JSON values in a file, one after another, each with its line.
//
//   kJsonLines  a value a line; lines without one are skipped
//   kJson       values one after another, which may span lines
//
// A file of either form that begins with "[" is one array instead, and the values are its elements. Where one value ends is
// found by its brackets and strings alone: whoever parses it finds what is wrong in it.
//
// Thread safety: a reader belongs to one thread; it points into the text.
#ifndef INLIER_SPEC_DATA_JSON_TEXTS_H_
#define INLIER_SPEC_DATA_JSON_TEXTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "base/data/record_form.h"

namespace inlier {

class JsonTexts {
 public:
  // REQUIRES: kJsonLines or kJson.
  JsonTexts(std::string_view text, std::string file, RecordForm form);

  // Moves to the next value; false after the last one. InvalidArgument with the line where an array is not closed, or goes
  // on behind its end.
  absl::StatusOr<bool> Next();

  std::string_view value() const { return value_; }
  // Where it begins: its line and column from 1, and its first byte.
  std::size_t line() const { return line_; }
  std::size_t column() const;
  std::size_t offset() const { return begin_; }

 private:
  // Passes white space and counts its lines.
  void PassSpace();
  // Takes the text to `end` as the value.
  void Take(std::size_t end);
  // The end of the value that begins at the current place: behind its last bracket or quote, or before a comma, a closing
  // bracket or white space.
  std::size_t EndOfValue() const;
  absl::StatusOr<bool> NextElement();

  const std::string_view text_;
  const std::string file_;
  const bool lines_;
  bool array_ = false;
  std::size_t elements_ = 0;
  std::size_t at_ = 0, at_line_ = 1;
  std::string_view value_;
  std::size_t line_ = 0, begin_ = 0;
};

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_JSON_TEXTS_H_
