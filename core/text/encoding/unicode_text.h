// Characters as the `tokenizers` library of Hugging Face classes and rewrites them, over ICU.
//
// Texts are UTF-8; bytes that are not count as U+FFFD. Characters that are newer than ICU's tables are unassigned here.
// Compared with tokenizers 0.22.2 for every other character: no difference.
#ifndef INLIER_CORE_TEXT_ENCODING_UNICODE_TEXT_H_
#define INLIER_CORE_TEXT_ENCODING_UNICODE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "unicode/umachine.h"
#include "unicode/utf8.h"

namespace inlier {

// The character at *position, which moves behind it. REQUIRES: *position < text.size().
inline UChar32 NextCharacter(std::string_view text, size_t* position) {
  // ICU counts in int32; a character has at most four bytes.
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data()) + *position;
  const size_t rest = text.size() - *position;
  const auto length = static_cast<int32_t>(rest < U8_MAX_LENGTH ? rest : U8_MAX_LENGTH);
  int32_t used = 0;
  UChar32 c;
  U8_NEXT_OR_FFFD(bytes, used, length, c);
  *position += used;
  return c;
}

void AppendUtf8(UChar32 c, std::string* out);

// The mask of the general category (U_GC_…) in tables of Unicode 8, which the library has for marks, punctuation and
// control characters: later characters have none, and six have changed theirs since.
uint32_t CategoryOf(UChar32 c);

bool IsMark(UChar32 c);  // Category M in tables of Unicode 9.
bool IsWhiteSpace(UChar32 c);
bool IsPunctuation(UChar32 c);    // ASCII's, symbols included, and category P.
bool IsWordCharacter(UChar32 c);  // \w of a regular expression.
bool IsNumeric(UChar32 c);        // Category N.

// A character in lower case; U+0130 becomes two.
void AppendLower(UChar32 c, std::string* out);

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };
std::string InForm(UnicodeForm form, std::string_view text);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_UNICODE_TEXT_H_
