#include "cli/sweeps/axis_arguments.h"

#include <algorithm>
#include <string_view>

namespace inlier {
namespace {

// The length of the name that `text` begins with, and that `behind` follows (or, for a comma, the end of the text): of
// the longest known one, else up to the first `behind`. npos: there is none.
std::size_t NameLength(std::string_view text, char behind, const std::vector<std::string>& known) {
  std::size_t length = 0;
  for (const std::string& name : known) {
    const bool ends =
        text.size() == name.size() ? behind == ',' : text.size() > name.size() && text[name.size()] == behind;
    if (ends && text.starts_with(name)) length = std::max(length, name.size());
  }
  return length > 0 ? length : text.find(behind);
}

}  // namespace

std::vector<std::string> SplitNames(const std::vector<std::string>& arguments,
                                    const std::vector<std::string>& known) {
  std::vector<std::string> names;
  for (std::string_view rest : arguments) {
    while (true) {
      const std::size_t length = std::min(NameLength(rest, ',', known), rest.size());
      names.emplace_back(rest.substr(0, length));
      if (length == rest.size()) break;
      rest.remove_prefix(length + 1);
    }
  }
  return names;
}

std::optional<std::pair<std::string, std::string>> SplitCondition(const std::string& text,
                                                                  const std::vector<std::string>& known) {
  const std::size_t length = NameLength(text, '=', known);
  if (length == std::string::npos || length == 0) return std::nullopt;
  return std::pair(text.substr(0, length), text.substr(length + 1));
}

std::vector<std::string> SplitConditions(const std::vector<std::string>& arguments,
                                         const std::vector<std::string>& known) {
  std::vector<std::string> conditions;
  for (const std::string& argument : arguments) {
    std::size_t begin = 0, from = std::min(NameLength(argument, '=', known), argument.size());
    for (std::size_t comma; (comma = argument.find(',', from)) != std::string::npos; from = comma + 1) {
      const std::string_view next = std::string_view(argument).substr(comma + 1);
      const std::size_t length = NameLength(next, '=', known);
      const bool is_known =
          length != std::string_view::npos && std::ranges::find(known, next.substr(0, length)) != known.end();
      // A name that is not known is reported where it is looked for.
      if (!is_known && (length == std::string_view::npos || next.find(',') < length)) continue;
      conditions.push_back(argument.substr(begin, comma - begin));
      begin = comma + 1;
      comma += length;
    }
    conditions.push_back(argument.substr(begin));
  }
  return conditions;
}

}  // namespace inlier
