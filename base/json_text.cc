#include "base/json_text.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

using nlohmann::json;

// The kind of error in the library's message, without the text that it read: "unexpected '}'; expected …".
std::string KindOf(const json::parse_error& error) {
  std::string message = error.what();
  message.resize(std::min(message.find("; last read: "), message.size()));
  const size_t dash = message.find(" - ");
  return dash == std::string::npos ? "syntax error" : message.substr(dash + 3);
}

// Checks the keys of every open object, and counts.
class Watcher {
 public:
  explicit Watcher(const JsonLimits& limits) : limits_(limits) {}

  // Throws a fault.
  bool operator()(int depth, json::parse_event_t event, json& value) {
    if (++events_ > limits_.values_max)
      throw Fault{absl::StrCat("more than ", limits_.values_max, " values and keys")};
    if (depth > limits_.depth_max) throw Fault{absl::StrCat("nested deeper than ", limits_.depth_max)};
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event == json::parse_event_t::key && !open_.back().insert(value.get_ref<const std::string&>()).second)
      throw Fault{"a key of an object occurs twice"};
    return true;
  }

  struct Fault {
    std::string what;
  };

 private:
  const JsonLimits& limits_;
  std::size_t events_ = 0;
  std::vector<std::unordered_set<std::string>> open_;
};

}  // namespace

absl::StatusOr<json> ParseJsonText(std::string_view text, const std::string& file, std::size_t first_line,
                                   const JsonLimits& limits, std::size_t first_column) {
  const auto wrong = [&file](const std::string& place, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", place, ": ", what));
  };
  const std::string line = absl::StrCat(first_line);
  if (text.size() > limits.bytes_max) {
    return wrong(line, absl::StrCat("JSON of ", text.size(), " bytes; at most ", limits.bytes_max,
                                    " are read: is it the right file?"));
  }
  Watcher watcher(limits);
  try {
    return json::parse(text, [&watcher](int depth, json::parse_event_t event, json& parsed) {
      return watcher(depth, event, parsed);
    });
  } catch (const Watcher::Fault& fault) {
    return wrong(line, fault.what);
  } catch (const json::parse_error& error) {
    // `byte` counts from one and is that of the last character read.
    const std::string_view before =
        text.substr(0, std::min(error.byte == 0 ? 0 : error.byte - 1, text.size()));
    const auto lines = static_cast<std::size_t>(std::ranges::count(before, '\n'));
    const std::size_t column =
        before.size() - (before.rfind('\n') + 1) + (lines == 0 ? first_column : 1);  // npos + 1 is 0.
    return wrong(absl::StrCat(first_line + lines, ":", column), absl::StrCat("not JSON: ", KindOf(error)));
  } catch (const json::exception&) {
    return wrong(line, "not JSON that can be kept: a number is out of range");
  }
}

int NestingDepth(std::string_view text) {
  int depth = 0, deepest = 0;
  char quote = 0;  // Of the string; protobuf's parser takes both kinds.
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace inlier
