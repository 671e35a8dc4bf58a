// JSON from files that people made: what is wrong is said with its place.
#ifndef INLIER_CORE_DATA_JSON_TEXT_H_
#define INLIER_CORE_DATA_JSON_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace inlier {

// The value that `text` is. InvalidArgument with "<file>:<line>:<column>" when it is none, or when an object
// has a key twice; `first_line` is the number of the text's first line in the file.
absl::StatusOr<nlohmann::json> ParseJsonText(std::string_view text, const std::string& file,
                                             size_t first_line = 1);

}  // namespace inlier

#endif  // INLIER_CORE_DATA_JSON_TEXT_H_
