// Checks that text files are text where they are read, so that the error can name the place.
#ifndef INLIER_BASE_DATA_UTF8_TEXT_H_
#define INLIER_BASE_DATA_UTF8_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inlier {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // Some programs put it before UTF-8.

// InvalidArgument has file, line, byte and remedy. `file` is the name for the message.
absl::Status CheckUtf8(std::string_view text, const std::string& file);

// The same of a file of data that users name: a compressed file, a spreadsheet, a Parquet file, UTF-16 and bytes of zero
// are refused too, each with its remedy.
absl::Status CheckTextFile(std::string_view text, const std::string& file);

}  // namespace inlier

#endif  // INLIER_BASE_DATA_UTF8_TEXT_H_
