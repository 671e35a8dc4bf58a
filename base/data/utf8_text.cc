#include "base/data/utf8_text.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace inlier {

absl::Status CheckUtf8(std::string_view text, const std::string& file) {
  const size_t place = ValidUtf8Prefix(text);
  if (place == text.size()) return absl::OkStatus();
  const std::string_view before = text.substr(0, place);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0.
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s:%d: byte %d of the line is not UTF-8; convert the file, for example with iconv -f WINDOWS-1252 -t "
      "UTF-8",
      file, line, place - line_begin + 1));
}

}  // namespace inlier
