// The alphabet of byte-level vocabularies: printable bytes stand for themselves, the 68 others for U+0100, U+0101, … in
// their order.
#ifndef INLIER_CORE_TEXT_ENCODING_BYTE_ALPHABET_H_
#define INLIER_CORE_TEXT_ENCODING_BYTE_ALPHABET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inlier {

const std::string& PrintableByte(uint8_t byte);
std::string PrintableBytes(std::string_view bytes);

// The bytes of a printable spelling; nothing when a character is not of the alphabet.
std::optional<std::string> BytesOfPrintable(std::string_view printable);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_BYTE_ALPHABET_H_
