#include "core/text/encoding/bert_words.h"

#include <array>
#include <utility>

#include "core/text/encoding/unicode_text.h"
#include "unicode/uchar.h"

namespace inlier {
namespace {

enum class AsciiClass : uint8_t { kLetter, kPunctuation, kSpace, kDropped };

AsciiClass ClassOfAscii(int c) {
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return AsciiClass::kSpace;
  if (c < 32 || c == 127) return AsciiClass::kDropped;
  return IsPunctuation(c) ? AsciiClass::kPunctuation : AsciiClass::kLetter;
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

// Control, format and private use; this includes their white space except tab and line ends.
bool IsDropped(UChar32 c) {
  if (c <= 0 || c == 0xFFFD) return true;
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return (CategoryOf(c) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0;
}

// BERT's own list of CJK ideographs; it excludes Hangul, Hiragana and Katakana, which are written in words.
// The gap from U+2B820 to U+2B91F is Hugging Face's (Google's list has none).
bool IsIdeograph(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

}  // namespace

std::string BertNormalize(std::string_view text, const BertNormalization& settings) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const UChar32 c = NextCharacter(text, &i);
    if (settings.clean_text && IsDropped(c)) continue;
    if (settings.split_ideographs && IsIdeograph(c)) {
      out.push_back(' ');
      AppendUtf8(c, &out);
      out.push_back(' ');
    } else if (settings.clean_text && IsWhiteSpace(c)) {
      out.push_back(' ');
    } else {
      AppendUtf8(c, &out);
    }
  }
  if (!settings.strip_accents && !settings.lowercase) return out;
  const std::string before = settings.strip_accents ? InForm(UnicodeForm::kNfd, out) : std::move(out);
  out.clear();
  for (size_t i = 0; i < before.size();) {
    const UChar32 c = NextCharacter(before, &i);
    if (settings.strip_accents && (CategoryOf(c) & U_GC_MN_MASK) != 0) continue;
    if (settings.lowercase) {
      AppendLower(c, &out);
    } else {
      AppendUtf8(c, &out);
    }
  }
  return out;
}

void BertWords::Reset(std::string_view text) {
  text_ = text;
  position_ = 0;
  BeginChunk();
}

void BertWords::BeginChunk() {
  words_.clear();
  word_ends_.clear();
  next_word_ = 0;
}

bool BertWords::CutNextChunk() {
  // ICU counts in int32. A chunk this long is not text; the cut keeps characters whole.
  constexpr size_t kMaxChunkBytes = 1 << 24;
  const AsciiTable& ascii = Ascii();
  BeginChunk();
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
  if (all_bits < 128 && settings_.clean_text) {
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
        words_.push_back(settings_.lowercase ? ascii.lower[c] : byte);
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
  const std::string normalized = BertNormalize(chunk, settings_);
  for (size_t i = 0; i < normalized.size();) {
    const size_t begin = i;
    const UChar32 c = NextCharacter(normalized, &i);
    if (IsWhiteSpace(c)) {
      EndWord();
      continue;
    }
    if (IsPunctuation(c)) EndWord();
    words_.append(normalized, begin, i - begin);
    if (IsPunctuation(c)) EndWord();
  }
  EndWord();
}

}  // namespace inlier
