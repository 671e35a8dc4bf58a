// Checks that text files are UTF-8 where they are read, so that the error can name the place.
#ifndef INLIER_BASE_DATA_UTF8_TEXT_H_
#define INLIER_BASE_DATA_UTF8_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inlier {

// InvalidArgument has file, line, byte and remedy. `file` is the name for the message.
absl::Status CheckUtf8(std::string_view text, const std::string& file);

}  // namespace inlier

#endif  // INLIER_BASE_DATA_UTF8_TEXT_H_
