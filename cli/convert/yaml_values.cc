#include "cli/convert/yaml_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "spec/schema/number_text.h"
#include "spec/schema/problems.h"

namespace inlier {

const YamlNode::Entry* FindEntry(const YamlNode& node, std::string_view key) {
  const auto it = std::ranges::find(node.entries, key, &YamlNode::Entry::key);
  return it == node.entries.end() ? nullptr : &*it;
}

const YamlNode* FindGroup(const YamlNode& node, std::string_view key) {
  const YamlNode::Entry* entry = FindEntry(node, key);
  return entry != nullptr && entry->value->kind == YamlNode::kMap ? entry->value.get() : nullptr;
}

std::string TextOf(const YamlNode& node, std::string_view key) {
  const YamlNode::Entry* entry = FindEntry(node, key);
  return entry == nullptr ? "" : entry->value->text;
}

std::optional<ForeignValue> PlainValue(const std::string& text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = text[i] == '_' && i > 0 && absl::ascii_isdigit(text[i - 1]);
    if (!between) digits += text[i];
  }
  if (const std::optional<double> number = ParseNumber(digits)) {
    std::int64_t whole = 0;
    if (absl::SimpleAtoi(digits, &whole)) return ForeignValue(whole);
    return ForeignValue(*number);
  }
  const std::string word = absl::AsciiStrToLower(text);
  if (word == "true" || word == "yes" || word == "on") return ForeignValue(true);
  if (word == "false" || word == "no" || word == "off") return ForeignValue(false);
  return std::nullopt;
}

ForeignValue ValueOf(const YamlNode& node) {
  ForeignValue value;
  switch (node.kind) {
    case YamlNode::kNull:
      break;
    case YamlNode::kScalar:
      value = node.text;
      if (!node.quoted) value = PlainValue(node.text).value_or(value);
      break;
    case YamlNode::kList:
      value = ItemsOf(node);
      break;
    case YamlNode::kMap: {
      // Without a search for each key.
      ForeignValue::object_t object;
      for (const YamlNode::Entry& entry : node.entries) object.emplace_back(entry.key, ValueOf(*entry.value));
      value = std::move(object);
      break;
    }
  }
  return value;
}

std::vector<ForeignValue> ItemsOf(const YamlNode& node) {
  std::vector<ForeignValue> values;
  for (const auto& item : node.items) values.push_back(ValueOf(*item));
  return values;
}

double RoundedTo(int digits, double value) {
  return ParseNumber(absl::StrFormat("%.*e", digits - 1, value)).value_or(value);
}

ForeignValue NumberValue(double value, bool whole) {
  if (whole && std::abs(value) < 1e15 && value == std::trunc(value)) return static_cast<std::int64_t>(value);
  return value;
}

absl::StatusOr<double> NumberAt(const YamlNode& node, const Place& place, const std::string& key,
                                std::optional<double> otherwise) {
  const YamlNode::Entry* entry = FindEntry(node, key);
  if (entry == nullptr && otherwise) return *otherwise;
  if (entry == nullptr) return ForeignError(place, absl::StrCat("has no ", key, "; give it"));
  const ForeignValue value = ValueOf(*entry->value);
  if (value.is_number()) return value.get<double>();
  return ForeignError({entry->value->position, JoinPath(place.path, key)},
                      "is not a number; write one such as 3 or 1e-4");
}

absl::StatusOr<std::uint32_t> CountOf(const YamlNode::Entry& entry, const std::string& path,
                                      std::uint32_t least) {
  const ForeignValue value = ValueOf(*entry.value);
  constexpr auto kMax = std::numeric_limits<std::uint32_t>::max();
  if (value.is_number_integer() && value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= kMax)
    return value.get<std::uint32_t>();
  return ForeignError({entry.value->position, path},
                      absl::StrCat("is not a whole number from ", least, " to ", kMax, "; write one"));
}

absl::Status CheckKeys(const YamlNode& node, const std::string& path) {
  std::set<std::string_view> keys;
  for (const YamlNode::Entry& entry : node.entries) {
    const std::string entry_path = JoinPath(path, entry.key);
    if (!keys.insert(entry.key).second)
      return ForeignError({entry.position, entry_path}, "is given twice; remove one");
    RETURN_IF_ERROR(CheckKeys(*entry.value, entry_path));
  }
  for (const auto& item : node.items) RETURN_IF_ERROR(CheckKeys(*item, path));
  return absl::OkStatus();
}

}  // namespace inlier
