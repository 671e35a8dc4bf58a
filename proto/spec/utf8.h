// Whether bytes are UTF-8, and how a text is shown in an error.
#ifndef INLIER_PROTO_SPEC_UTF8_H_
#define INLIER_PROTO_SPEC_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace inlier {

// Length of the longest beginning that is well-formed UTF-8 (no overlong forms, surrogates or values above
// U+10FFFF).
std::size_t ValidUtf8Prefix(std::string_view bytes);

inline bool IsUtf8(std::string_view bytes) { return ValidUtf8Prefix(bytes) == bytes.size(); }

// The text in double quotes for a message on one line: at most 60 bytes of it, control characters as spaces.
std::string Quoted(std::string_view text);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_UTF8_H_
