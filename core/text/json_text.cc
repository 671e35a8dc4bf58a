#include "core/text/json_text.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace inlier {
namespace {

using nlohmann::json;

// The reason in the library's message: what follows "[json.exception.parse_error.101] parse error at line 1,
// column 5: ".
std::string ReasonOf(const json::parse_error& error) {
  const std::string message = error.what();
  const size_t colon = message.find(": ");
  return ReplaceInvalidUtf8(colon == std::string::npos ? message : message.substr(colon + 2));
}

// Checks the keys of every open object.
class DuplicateKeys {
 public:
  bool operator()(int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event == json::parse_event_t::key && !found_.has_value()) {
      const auto& key = value.get_ref<const std::string&>();
      if (!open_.back().insert(key).second) found_ = key;
    }
    return true;
  }
  const std::optional<std::string>& found() const { return found_; }

 private:
  std::vector<std::unordered_set<std::string>> open_;
  std::optional<std::string> found_;
};

}  // namespace

absl::StatusOr<json> ParseJsonText(std::string_view text, const std::string& file, size_t first_line) {
  DuplicateKeys duplicates;
  json value;
  try {
    value = json::parse(text, [&duplicates](int depth, json::parse_event_t event, json& parsed) {
      return duplicates(depth, event, parsed);
    });
  } catch (const json::parse_error& error) {
    // `byte` counts from one and is that of the last character read.
    const std::string_view before =
        text.substr(0, std::min(error.byte == 0 ? 0 : error.byte - 1, text.size()));
    const auto lines = static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0.
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", first_line + lines, ":", column, ": not JSON: ", ReasonOf(error)));
  }
  if (duplicates.found().has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", first_line, ": the key \"", *duplicates.found(), "\" occurs twice"));
  }
  return value;
}

}  // namespace inlier
