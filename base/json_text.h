// JSON from files of other users: errors name their place and never quote the file; memory is bounded.
#ifndef INLIER_BASE_JSON_TEXT_H_
#define INLIER_BASE_JSON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace inlier {

struct JsonLimits {
  std::size_t bytes_max = std::size_t{64} << 20;
  std::size_t values_max = 1'000'000;  // Values and keys; each takes some hundred bytes.
  int depth_max = 64;
};

// The value of `text`, which begins at `first_line` of the file, and there at `first_column`. InvalidArgument with "<file>:<line>:<column>" when
// it is not JSON, and with "<file>:<line>" when an object has a key twice or a limit is passed.
absl::StatusOr<nlohmann::json> ParseJsonText(std::string_view text, const std::string& file,
                                             std::size_t first_line = 1, const JsonLimits& limits = {},
                                             std::size_t first_column = 1);

// How deep brackets and braces are nested in `text`, JSON or not: for parsers that take long for deep ones. One pass.
int NestingDepth(std::string_view text);

}  // namespace inlier

#endif  // INLIER_BASE_JSON_TEXT_H_
