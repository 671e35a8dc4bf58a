// Names that no shell and no terminal reads as something else: a user may complete, copy and paste them.
#ifndef INLIER_SPEC_SCHEMA_PLAIN_NAME_H_
#define INLIER_SPEC_SCHEMA_PLAIN_NAME_H_

#include <algorithm>
#include <string_view>

namespace inlier {

// Completes "a name has ..." in messages.
inline constexpr char kPlainNameForm[] = "letters, digits and . _ - + : @ % = / , and does not begin with -";

// True for such a name; letters are of any language. `name` is UTF-8.
inline bool IsPlainName(std::string_view name) {
  constexpr std::string_view kSigns = "._-+:@%=/,";
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [&](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80 ||
           kSigns.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_PLAIN_NAME_H_
