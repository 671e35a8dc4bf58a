#include "core/data/utf8_text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "unicode/utf8.h"

namespace inlier {
namespace {

// The character at `position`, which moves behind it; negative when it is not UTF-8.
UChar32 NextCharacter(std::string_view text, size_t* position) {
  // ICU counts in int32; a character has at most four bytes.
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data()) + *position;
  const auto length = static_cast<int32_t>(std::min<size_t>(text.size() - *position, U8_MAX_LENGTH));
  int32_t used = 0;
  UChar32 c;
  U8_NEXT(bytes, used, length, c);
  *position += used;
  return c;
}

}  // namespace

size_t FirstInvalidUtf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  for (size_t i = 0; i < text.size();) {
    uint64_t word;
    if (text.size() - i >= sizeof(word)) {
      std::memcpy(&word, text.data() + i, sizeof(word));
      if ((word & kHighBits) == 0) {  // Eight ASCII characters.
        i += sizeof(word);
        continue;
      }
    }
    const size_t begin = i;
    if (NextCharacter(text, &i) < 0) return begin;
  }
  return text.size();
}

std::string ReplaceInvalidUtf8(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size();) {
    const size_t begin = i;
    if (NextCharacter(bytes, &i) < 0) {
      text += "\xEF\xBF\xBD";
    } else {
      text.append(bytes.substr(begin, i - begin));
    }
  }
  return text;
}

absl::Status CheckUtf8(std::string_view text, const std::string& file) {
  const size_t place = FirstInvalidUtf8(text);
  if (place == text.size()) return absl::OkStatus();
  const std::string_view before = text.substr(0, place);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0.
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s:%d: byte %d of the line (0x%02X) is not UTF-8; convert the file, for example with iconv -f "
      "WINDOWS-1252 -t UTF-8",
      file, line, place - line_begin + 1, static_cast<uint8_t>(text[place])));
}

}  // namespace inlier
