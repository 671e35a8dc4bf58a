// What a text file must be: UTF-8. Checked where texts and vocabularies are read, so that the error can name
// the place.
#ifndef INLIER_CORE_DATA_UTF8_TEXT_H_
#define INLIER_CORE_DATA_UTF8_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inlier {

// Where the first bytes that are not UTF-8 begin; text.size() when all of it is.
size_t FirstInvalidUtf8(std::string_view text);

// Bytes with everything that is not UTF-8 replaced by U+FFFD, for showing them to people.
std::string ReplaceInvalidUtf8(std::string_view bytes);

// OK, or InvalidArgument with file, line, byte and remedy. `file` is the name for the message.
absl::Status CheckUtf8(std::string_view text, const std::string& file);

}  // namespace inlier

#endif  // INLIER_CORE_DATA_UTF8_TEXT_H_
