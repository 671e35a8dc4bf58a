// The lines of a text file in memory.
//
// Thread safety: a reader belongs to one thread; it points into the text.
#ifndef INLIER_BASE_DATA_TEXT_LINES_H_
#define INLIER_BASE_DATA_TEXT_LINES_H_

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace inlier {

class TextLines {
 public:
  explicit TextLines(std::string_view text) : text_(text) {}

  // Moves to the next line; false after the last one.
  bool Next() {
    if (begin_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', begin_), text_.size());
    line_ = text_.substr(begin_, end - begin_);
    begin_ = end + 1;
    ++number_;
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    return true;
  }

  // The line without its end ("\n" or "\r\n"), and its number from one.
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  std::string_view line_;
  std::size_t number_ = 0;
};

// The lines of `text` that end within its first `bytes_max` bytes; all of a text that is no longer.
inline std::string_view WholeLines(std::string_view text, std::size_t bytes_max) {
  return text.size() <= bytes_max ? text : text.substr(0, text.substr(0, bytes_max).rfind('\n') + 1);
}

inline bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace inlier

#endif  // INLIER_BASE_DATA_TEXT_LINES_H_
