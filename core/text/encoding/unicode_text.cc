#include "core/text/encoding/unicode_text.h"

#include "base/check.h"
#include "base/utf8.h"
#include "unicode/bytestream.h"
#include "unicode/normalizer2.h"
#include "unicode/uchar.h"
#include "unicode/uniset.h"

namespace inlier {

void AppendUtf8(UChar32 c, std::string* out) {
  uint8_t bytes[U8_MAX_LENGTH];
  int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  out->append(reinterpret_cast<const char*>(bytes), length);
}

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

bool IsMark(UChar32 c) {
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // Marks then, letters since.
  UVersionInfo age;
  u_charAge(c, age);
  return c != 0x111C9 && age[0] <= 9 && (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
}

bool IsWhiteSpace(UChar32 c) { return u_isUWhiteSpace(c) != 0; }

bool IsPunctuation(UChar32 c) {
  if (c < 128)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return (CategoryOf(c) & U_GC_P_MASK) != 0;
}

bool IsWordCharacter(UChar32 c) {
  return u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) ||
         (U_GET_GC_MASK(c) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0;
}

bool IsNumeric(UChar32 c) { return (U_GET_GC_MASK(c) & U_GC_N_MASK) != 0; }

void AppendLower(UChar32 c, std::string* out) {
  if (c == 0x130) {
    out->append("i\xCC\x87");
  } else {
    AppendUtf8(u_tolower(c), out);
  }
}

namespace {

const icu::Normalizer2& NormalizerOf(UnicodeForm form) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = nullptr;
  switch (form) {
    case UnicodeForm::kNfc:
      normalizer = icu::Normalizer2::getNFCInstance(error);
      break;
    case UnicodeForm::kNfd:
      normalizer = icu::Normalizer2::getNFDInstance(error);
      break;
    case UnicodeForm::kNfkc:
      normalizer = icu::Normalizer2::getNFKCInstance(error);
      break;
    case UnicodeForm::kNfkd:
      normalizer = icu::Normalizer2::getNFKDInstance(error);
      break;
  }
  INLIER_CHECK(U_SUCCESS(error));
  return *normalizer;
}

}  // namespace

std::string InForm(UnicodeForm form, std::string_view text) {
  UErrorCode error = U_ZERO_ERROR;
  // The library's tables of these forms are of Unicode 9: later characters stay as they are, and where they are.
  static const icu::UnicodeSet* const known = [] {
    UErrorCode failed = U_ZERO_ERROR;
    auto* set = new icu::UnicodeSet(u"[:age=9.0:]", failed);
    INLIER_CHECK(U_SUCCESS(failed));
    set->freeze();
    return set;
  }();
  const icu::FilteredNormalizer2 normalizer(NormalizerOf(form), *known);
  // ICU counts in int32. The pieces of a text that long are cut between characters.
  constexpr size_t kPieceBytes = size_t{1} << 28;
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  while (!text.empty()) {
    const std::string_view piece = CutUtf8(text, kPieceBytes);
    normalizer.normalizeUTF8(0, icu::StringPiece(piece.data(), static_cast<int32_t>(piece.size())), sink,
                             nullptr, error);
    INLIER_CHECK(U_SUCCESS(error));
    text.remove_prefix(piece.size());
  }
  return out;
}

}  // namespace inlier
