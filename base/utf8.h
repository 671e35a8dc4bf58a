// Texts as UTF-8: whether bytes are, making them so, and showing them in an error.
#ifndef INLIER_BASE_UTF8_H_
#define INLIER_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace inlier {

// Length of the longest beginning that is well-formed UTF-8: no overlong forms, surrogates or values > U+10FFFF.
std::size_t ValidUtf8Prefix(std::string_view bytes);

inline bool IsUtf8(std::string_view bytes) { return ValidUtf8Prefix(bytes) == bytes.size(); }

// Puts U+FFFD for each maximal part of a character that is not UTF-8 (Unicode 15, table 3-11).
std::string ReplaceInvalidUtf8(std::string_view bytes);

// The beginning of `text`, at most `bytes_max` bytes of it, that ends between two characters.
std::string_view CutUtf8(std::string_view text, std::size_t bytes_max);

// The text in double quotes for a message on one line: at most 60 bytes of it, control characters as spaces.
std::string Quoted(std::string_view text);

}  // namespace inlier

#endif  // INLIER_BASE_UTF8_H_
