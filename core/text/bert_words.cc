#include "core/text/bert_words.h"

#include <array>

#include "base/check.h"
#include "unicode/uchar.h"
#include "unicode/unorm2.h"
#include "unicode/utf16.h"
#include "unicode/utf8.h"

namespace inlier {
namespace {

enum class AsciiClass : uint8_t { kLetter, kPunctuation, kSpace, kDropped };

AsciiClass ClassOfAscii(int c) {
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return AsciiClass::kSpace;
  if (c < 32 || c == 127) return AsciiClass::kDropped;
  const bool punctuation =
      (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return punctuation ? AsciiClass::kPunctuation : AsciiClass::kLetter;
}

struct AsciiTable {
  std::array<AsciiClass, 128> classes{};
  std::array<char, 128> lower{};
  AsciiTable() {
    for (int c = 0; c < 128; ++c) {
      classes[c] = ClassOfAscii(c);
      lower[c] = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
  }
};

const AsciiTable& Ascii() {
  static const AsciiTable table;
  return table;
}

// The general category in the reference's tables, which are those of Unicode 8: later characters have none,
// and six have changed theirs since.
uint32_t CategoryOf(UChar32 c) {
  switch (c) {
    case 0x166D:
    case 0x111C9:
      return U_GC_PO_MASK;
    case 0x1734:
      return U_GC_MN_MASK;
    case 0x1885:
    case 0x1886:
      return U_GC_LO_MASK;
    case 0xA9BD:
      return U_GC_MC_MASK;
    default:
      break;
  }
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] > 8 ? U_GC_CN_MASK : U_GET_GC_MASK(c);
}

// Control, format and private use; this includes their white space except tab and line ends.
bool IsDropped(UChar32 c) {
  if (c <= 0 || c == 0xFFFD) return true;
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return (CategoryOf(c) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0;
}

bool IsPunctuation(UChar32 c) {
  if (c < 128) return Ascii().classes[c] == AsciiClass::kPunctuation;
  return (CategoryOf(c) & U_GC_P_MASK) != 0;
}

// BERT's own list of CJK ideographs; it excludes Hangul, Hiragana and Katakana, which are written in words.
// The gap from U+2B820 to U+2B91F is Hugging Face's (Google's list has none).
bool IsIdeograph(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void AppendUtf16(UChar32 c, std::u16string* out) {
  if (c > 0xFFFF) {
    out->push_back(U16_LEAD(c));
    out->push_back(U16_TRAIL(c));
  } else {
    out->push_back(static_cast<char16_t>(c));
  }
}

void AppendUtf8(UChar32 c, std::string* out) {
  uint8_t bytes[U8_MAX_LENGTH];
  int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  out->append(reinterpret_cast<const char*>(bytes), length);
}

// Canonical decomposition.
void Decompose(const std::u16string& text, std::u16string* out) {
  UErrorCode error = U_ZERO_ERROR;
  static const UNormalizer2* const nfd = unorm2_getNFDInstance(&error);
  INLIER_CHECK(U_SUCCESS(error));
  out->resize(text.size() * 4 + 16);
  for (int attempt = 0;; ++attempt) {
    error = U_ZERO_ERROR;
    const int32_t length = unorm2_normalize(nfd, text.data(), static_cast<int32_t>(text.size()), out->data(),
                                            static_cast<int32_t>(out->size()), &error);
    out->resize(length);
    if (U_SUCCESS(error)) return;
    INLIER_CHECK(error == U_BUFFER_OVERFLOW_ERROR && attempt == 0);
  }
}

}  // namespace

void BertWords::Reset(std::string_view text) {
  text_ = text;
  position_ = 0;
  words_.clear();
  word_ends_.clear();
  next_word_ = 0;
}

bool BertWords::CutNextChunk() {
  // ICU counts in int32. A chunk this long is no text; the cut keeps characters whole.
  constexpr size_t kMaxChunkBytes = 1 << 24;
  const AsciiTable& ascii = Ascii();
  words_.clear();
  word_ends_.clear();
  next_word_ = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text_.data());
  size_t begin = position_;
  while (begin < text_.size() && bytes[begin] < 128 && ascii.classes[bytes[begin]] == AsciiClass::kSpace)
    ++begin;
  if (begin == text_.size()) return false;
  size_t end = begin;
  uint8_t all_bits = 0;
  for (; end < text_.size(); ++end) {
    const uint8_t byte = bytes[end];
    if (byte < 128 && ascii.classes[byte] == AsciiClass::kSpace) break;
    const size_t length = end - begin;
    if (length >= kMaxChunkBytes && ((byte & 0xC0) != 0x80 || length >= kMaxChunkBytes + U8_MAX_LENGTH))
      break;
    all_bits |= byte;
  }
  position_ = end;
  const std::string_view chunk = text_.substr(begin, end - begin);
  if (all_bits < 128) {
    CutAscii(chunk);
  } else {
    CutUnicode(chunk);
  }
  return true;
}

void BertWords::EndWord() {
  const size_t begin = word_ends_.empty() ? 0 : word_ends_.back();
  if (words_.size() > begin) word_ends_.push_back(words_.size());
}

void BertWords::CutAscii(std::string_view chunk) {
  const AsciiTable& ascii = Ascii();
  for (const char byte : chunk) {
    const auto c = static_cast<uint8_t>(byte);
    switch (ascii.classes[c]) {
      case AsciiClass::kLetter:
        words_.push_back(ascii.lower[c]);
        break;
      case AsciiClass::kPunctuation:
        EndWord();
        words_.push_back(byte);
        EndWord();
        break;
      case AsciiClass::kSpace:
      case AsciiClass::kDropped:
        break;
    }
  }
  EndWord();
}

void BertWords::CutUnicode(std::string_view chunk) {
  cleaned_.clear();
  const auto* bytes = reinterpret_cast<const uint8_t*>(chunk.data());
  const auto size = static_cast<int32_t>(chunk.size());
  for (int32_t i = 0; i < size;) {
    UChar32 c;
    U8_NEXT(bytes, i, size, c);
    if (IsDropped(c)) continue;
    if (IsIdeograph(c)) {
      cleaned_.push_back(u' ');
      AppendUtf16(c, &cleaned_);
      cleaned_.push_back(u' ');
    } else if (u_isUWhiteSpace(c)) {
      cleaned_.push_back(u' ');
    } else {
      AppendUtf16(c, &cleaned_);
    }
  }
  Decompose(cleaned_, &decomposed_);
  const auto length = static_cast<int32_t>(decomposed_.size());
  for (int32_t i = 0; i < length;) {
    UChar32 c;
    U16_NEXT(decomposed_.data(), i, length, c);
    if (CategoryOf(c) & U_GC_MN_MASK) continue;
    c = u_tolower(c);
    if (c == ' ') {
      EndWord();
    } else if (IsPunctuation(c)) {
      EndWord();
      AppendUtf8(c, &words_);
      EndWord();
    } else {
      AppendUtf8(c, &words_);
    }
  }
  EndWord();
}

}  // namespace inlier
