#include "core/text/encoding/pre_tokenizer.h"

#include <array>
#include <cstdint>

#include "unicode/uchar.h"
#include "unicode/utf8.h"

namespace inlier {
namespace {

enum class CharClass : uint8_t { kLetter, kNumber, kSpace, kOther };

CharClass ClassOfCodePoint(UChar32 c) {
  if (c < 0) return CharClass::kOther;  // Not UTF-8.
  const uint32_t category = U_GET_GC_MASK(c);
  if (category & U_GC_L_MASK) return CharClass::kLetter;
  if (category & U_GC_N_MASK) return CharClass::kNumber;
  return u_isUWhiteSpace(c) ? CharClass::kSpace : CharClass::kOther;
}

std::array<CharClass, 128> MakeAsciiClasses() {
  std::array<CharClass, 128> classes{};
  for (int c = 0; c < 128; ++c) classes[c] = ClassOfCodePoint(c);
  return classes;
}

// The class of the character at `position`, whose end is stored in *end.
CharClass ClassAt(std::string_view text, size_t position, size_t* end) {
  static const std::array<CharClass, 128> ascii = MakeAsciiClasses();
  const auto byte = static_cast<uint8_t>(text[position]);
  if (byte < 128) {
    *end = position + 1;
    return ascii[byte];
  }
  // ICU counts in int32; a character has at most four bytes.
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data()) + position;
  const auto length = static_cast<int32_t>(text.size() - position < 4 ? text.size() - position : 4);
  int32_t used = 0;
  UChar32 c;
  U8_NEXT(bytes, used, length, c);
  *end = position + used;
  return ClassOfCodePoint(c);
}

// The end of the run of characters of class `wanted` that begins at `position`.
size_t EndOfRun(std::string_view text, size_t position, CharClass wanted) {
  size_t end;
  while (position < text.size() && ClassAt(text, position, &end) == wanted) position = end;
  return position;
}

// The length of the contraction at the beginning of `rest`, 0 when there is none.
size_t ContractionLength(std::string_view rest) {
  if (rest.size() < 2 || rest[0] != '\'') return 0;
  const char first = rest[1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (rest.size() < 3) return 0;
  const char second = rest[2];
  const bool two_letters =
      (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
  return two_letters ? 3 : 0;
}

// The end of the white space run at `begin`, or the start of its last character when the next word takes
// that.
size_t EndOfSpaces(std::string_view text, size_t begin) {
  size_t position = begin;
  size_t last = begin;
  size_t end;
  while (position < text.size() && ClassAt(text, position, &end) == CharClass::kSpace) {
    last = position;
    position = end;
  }
  if (position == text.size() || last == begin) return position;
  return last;
}

}  // namespace

std::string_view NextWord(std::string_view text, size_t* position) {
  const size_t begin = *position;
  if (begin >= text.size()) return {};
  size_t end = begin;
  if (const size_t contraction = ContractionLength(text.substr(begin)); contraction > 0) {
    end = begin + contraction;
  } else {
    size_t after;
    CharClass first = ClassAt(text, begin, &after);
    if (text[begin] == ' ' && begin + 1 < text.size()) {
      const CharClass second = ClassAt(text, begin + 1, &after);
      if (second != CharClass::kSpace) first = second;
    }
    end = first == CharClass::kSpace ? EndOfSpaces(text, begin) : EndOfRun(text, after, first);
  }
  *position = end;
  return text.substr(begin, end - begin);
}

}  // namespace inlier
