// JSON from hand-written files: errors name their place.
#ifndef INLIER_CORE_TEXT_JSON_TEXT_H_
#define INLIER_CORE_TEXT_JSON_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace inlier {

// The value of `text`. InvalidArgument with "<file>:<line>:<column>" when it is not JSON, or when an object
// has a key twice; `first_line` is the number of the text's first line in the file.
absl::StatusOr<nlohmann::json> ParseJsonText(std::string_view text, const std::string& file,
                                             size_t first_line = 1);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_JSON_TEXT_H_
