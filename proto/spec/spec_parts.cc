#include "proto/spec/spec_parts.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {
namespace {

// Position behind the string that begins with the quote at `at`.
std::size_t SkipString(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

// Position behind the value at `at`: of the comma or brace that ends it.
std::size_t SkipValue(std::string_view json, std::size_t at) {
  for (int depth = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') {
      at = SkipString(json, at) - 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth-- == 0) break;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  return at;
}

// Their field numbers.
bool IsGroup(int number) {
  static const std::array<int, kSpecGroups.size()> numbers = [] {
    std::array<int, kSpecGroups.size()> found;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto* field = v1::TrialSpec::descriptor()->FindFieldByName(kSpecGroups[i]);
      INLIER_CHECK(field != nullptr);
      found[i] = field->number();
    }
    return found;
  }();
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

}  // namespace

std::string PackedRest(std::string_view packed) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(packed.data()),
                                            static_cast<int>(packed.size()));
  std::string rest;
  for (int begin = 0;; begin = in.CurrentPosition()) {
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) return in.CurrentPosition() == static_cast<int>(packed.size()) ? rest : "";
    if (!WireFormatLite::SkipField(&in, tag)) return "";
    if (!IsGroup(WireFormatLite::GetTagFieldNumber(tag)))
      rest += packed.substr(static_cast<std::size_t>(begin),
                            static_cast<std::size_t>(in.CurrentPosition() - begin));
  }
}

SpecParts SplitSpec(std::string_view json) {
  SpecParts parts{"{", {}};
  const SpecParts whole{std::string(json), {}};
  if (json.size() < 2 || json.front() != '{') return whole;
  std::size_t at = 1;
  while (at < json.size() && json[at] == '"') {
    const std::size_t key = at + 1;
    const std::size_t colon = SkipString(json, at);
    if (colon >= json.size() || json[colon] != ':') return whole;
    const std::size_t end = SkipValue(json, colon + 1);
    if (end >= json.size()) return whole;
    const std::string_view name = json.substr(key, colon - 1 - key);
    const std::string_view value = json.substr(colon + 1, end - colon - 1);
    bool is_group = false;
    for (std::size_t i = 0; i < kSpecGroups.size() && value.starts_with('{'); ++i) {
      if (name != kSpecGroups[i]) continue;
      parts.groups[i] = value;
      is_group = true;
    }
    if (!is_group) {
      if (parts.rest.size() > 1) parts.rest += ',';
      parts.rest += json.substr(at, end - at);
    }
    at = end;
    if (json[at] == ',' && json.substr(at + 1).starts_with('"')) ++at;
  }
  if (at + 1 != json.size() || json[at] != '}') return whole;
  parts.rest += '}';
  return parts;
}

}  // namespace inlier
