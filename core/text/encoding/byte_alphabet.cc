#include "core/text/encoding/byte_alphabet.h"

#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/text/encoding/unicode_text.h"

namespace inlier {
namespace {

struct ByteAlphabet {
  std::array<std::string, 256> printable;
  absl::flat_hash_map<std::string, uint8_t> byte_of;

  ByteAlphabet() {
    UChar32 next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool itself =
          (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
      AppendUtf8(itself ? byte : next++, &printable[byte]);
      byte_of[printable[byte]] = static_cast<uint8_t>(byte);
    }
  }
};

const ByteAlphabet& Alphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

}  // namespace

const std::string& PrintableByte(uint8_t byte) { return Alphabet().printable[byte]; }

std::string PrintableBytes(std::string_view bytes) {
  std::string printable;
  for (const char byte : bytes) printable += PrintableByte(static_cast<uint8_t>(byte));
  return printable;
}

std::optional<std::string> BytesOfPrintable(std::string_view printable) {
  std::string bytes;
  for (size_t i = 0; i < printable.size();) {
    const size_t length = static_cast<uint8_t>(printable[i]) < 0x80 ? 1 : 2;
    const std::string_view character = printable.substr(i, length);
    const auto found = Alphabet().byte_of.find(absl::string_view(character.data(), character.size()));
    if (found == Alphabet().byte_of.end()) return std::nullopt;
    bytes.push_back(static_cast<char>(found->second));
    i += length;
  }
  return bytes;
}

}  // namespace inlier
