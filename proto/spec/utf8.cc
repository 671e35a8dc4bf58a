#include "proto/spec/utf8.h"

#include <cstdint>

namespace inlier {

std::size_t ValidUtf8Prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto lead = static_cast<std::uint8_t>(bytes[at]);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || bytes.size() - at < length) return at;
    std::uint32_t code = lead & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<std::uint8_t>(bytes[at + i]);
      if ((next & 0xc0) != 0x80) return at;
      code = code << 6 | (next & 0x3fu);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
      return at;
    }
    at += length;
  }
  return at;
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  const std::string_view part =
      text.size() <= kShown ? text : text.substr(0, ValidUtf8Prefix(text.substr(0, kShown)));
  std::string shown = "\"";
  for (char c : part) shown.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c);
  return shown + (part.size() < text.size() ? "…\"" : "\"");
}

}  // namespace inlier
