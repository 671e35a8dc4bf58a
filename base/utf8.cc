#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace inlier {
namespace {

struct Character {
  std::size_t length = 0;  // Bytes; of invalid UTF-8, those that could start a character.
  bool valid = false;
};

// The first character of `bytes`, which are not empty (Unicode 15, table 3-7).
Character FirstOf(std::string_view bytes) {
  const auto byte = [bytes](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4) return {1, false};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  // Of the second byte: no overlong forms, no surrogates, nothing above U+10FFFF.
  std::uint8_t least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  std::uint8_t most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size() || byte(i) < least || byte(i) > most) return {i, false};
    least = 0x80;
    most = 0xbf;
  }
  return {length, true};
}

}  // namespace

std::size_t ValidUtf8Prefix(std::string_view bytes) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::uint64_t word;
    if (bytes.size() - at >= sizeof(word)) {
      std::memcpy(&word, bytes.data() + at, sizeof(word));
      if ((word & kHighBits) == 0) {  // Eight ASCII characters.
        at += sizeof(word);
        continue;
      }
    }
    const Character next = FirstOf(bytes.substr(at));
    if (!next.valid) return at;
    at += next.length;
  }
  return at;
}

std::string ReplaceInvalidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t valid = ValidUtf8Prefix(bytes);
    text += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    text += "\xef\xbf\xbd";
    bytes.remove_prefix(FirstOf(bytes).length);
  }
  return text;
}

std::string_view CutUtf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  // The bytes after the cut may belong to a character that starts before it.
  while (end > 0 && bytes_max - end < 3 && (static_cast<std::uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, (static_cast<std::uint8_t>(text[end]) & 0xc0) == 0x80 ? bytes_max : end);
}

std::string Quoted(std::string_view text) {
  const std::string_view part = CutUtf8(text, 60);
  std::string shown = "\"";
  for (char c : part) shown.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c);
  return shown + (part.size() < text.size() ? "…\"" : "\"");
}

}  // namespace inlier
