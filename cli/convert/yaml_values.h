// Values of YAML as Python's tools read them: 12_345, 6.e-5 and yes are numbers and true there.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_YAML_VALUES_H_
#define INLIER_CLI_CONVERT_YAML_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/convert/foreign_sweep.h"
#include "spec/schema/yaml_document.h"

namespace inlier {

// nullptr where `node` is no mapping or has no such key.
const YamlNode::Entry* FindEntry(const YamlNode& node, std::string_view key);
// The mapping of that key, or nullptr.
const YamlNode* FindGroup(const YamlNode& node, std::string_view key);
// The text of that key; "" where it is none.
std::string TextOf(const YamlNode& node, std::string_view key);

// A number, true, false, or nothing for a text that is none of them. Numbers may have "_" between digits.
std::optional<ForeignValue> PlainValue(const std::string& text);
ForeignValue ValueOf(const YamlNode& node);
std::vector<ForeignValue> ItemsOf(const YamlNode& node);
// To decimal digits: of 12 digits 3 * 0.1 is 0.3.
double RoundedTo(int digits, double value);
// An integer where `whole` and where it is one.
ForeignValue NumberValue(double value, bool whole);

// The number of a key of `node`, which is at `place`, or `otherwise`. Errors name the place.
absl::StatusOr<double> NumberAt(const YamlNode& node, const Place& place, const std::string& key,
                                std::optional<double> otherwise = std::nullopt);
absl::StatusOr<std::uint32_t> CountOf(const YamlNode::Entry& entry, const std::string& path,
                                      std::uint32_t least);
// InvalidArgument for a key that a mapping of the tree has twice.
absl::Status CheckKeys(const YamlNode& node, const std::string& path);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_YAML_VALUES_H_
