#include "core/text/json_line.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr JsonLimits kLineLimits = {.values_max = 10'000};

}  // namespace

absl::StatusOr<JsonLine> JsonLine::Parse(std::string_view line, const std::string& file, std::size_t number,
                                         const std::string& example_field) {
  ASSIGN_OR_RETURN(nlohmann::json value, ParseJsonText(line, file, number, kLineLimits));
  return Of(std::move(value), absl::StrCat(file, ":", number), example_field);
}

absl::StatusOr<JsonLine> JsonLine::Of(nlohmann::json element, const std::string& place,
                                      const std::string& example_field) {
  JsonLine parsed;
  parsed.place_ = place;
  parsed.object_ = std::move(element);
  if (parsed.object_.is_object()) return parsed;
  return parsed.Invalid(absl::StrCat("a JSON object is needed in every line, such as {\"", example_field,
                                     "\": \"…\"}, and this is of type ", parsed.object_.type_name()));
}

absl::StatusOr<std::string> JsonLine::Text(const std::string& field, const std::string& spec_field) const {
  const auto found = object_.find(field);
  if (found == object_.end()) {
    return Invalid(absl::StrCat("no field \"", field, "\" among its ", object_.size(),
                                "; name the one with the text by ", spec_field));
  }
  if (!found->is_string()) {
    return Invalid(absl::StrCat("the field \"", field, "\" is of type ", found->type_name(),
                                ", and a text is a string; name another with ", spec_field));
  }
  return found->get<std::string>();
}

absl::StatusOr<std::string> JsonLine::OptionalText(const std::string& field,
                                                   const std::string& spec_field) const {
  const auto found = object_.find(field);
  if (found == object_.end() || found->is_null()) return std::string();
  return Text(field, spec_field);
}

absl::Status JsonLine::Invalid(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(place_, ": ", what));
}

}  // namespace inlier
