// One line of a .jsonl file, or one element of a file with an array: an object with texts in its fields.
#ifndef INLIER_CORE_TEXT_JSON_LINE_H_
#define INLIER_CORE_TEXT_JSON_LINE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace inlier {

class JsonLine {
 public:
  // InvalidArgument with file and line where it is not an object; `example_field` is a field that it needs.
  static absl::StatusOr<JsonLine> Parse(std::string_view line, const std::string& file, std::size_t number,
                                        const std::string& example_field);

  // The same of an element of an array; `place` is for messages.
  static absl::StatusOr<JsonLine> Of(nlohmann::json element, const std::string& place,
                                     const std::string& example_field);

  // InvalidArgument when the field is missing or not a string; `spec_field` is the spec's field that names it.
  absl::StatusOr<std::string> Text(const std::string& field, const std::string& spec_field) const;

  // The same, but a missing or null field is empty.
  absl::StatusOr<std::string> OptionalText(const std::string& field, const std::string& spec_field) const;

 private:
  absl::Status Invalid(const std::string& what) const;

  std::string place_;  // "<file>:<line>", or that of Of().
  nlohmann::json object_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_JSON_LINE_H_
