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

// Calls `visit` with the number and the bytes of each field; false where `packed` is no message.
template <typename Visit>
bool WalkFields(std::string_view packed, Visit visit) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(packed.data()),
                                            static_cast<int>(packed.size()));
  for (int begin = 0;; begin = in.CurrentPosition()) {
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0)
      return in.ConsumedEntireMessage() && in.CurrentPosition() == static_cast<int>(packed.size());
    if (!WireFormatLite::SkipField(&in, tag)) return false;
    visit(WireFormatLite::GetTagFieldNumber(tag),
          packed.substr(static_cast<std::size_t>(begin),
                        static_cast<std::size_t>(in.CurrentPosition() - begin)));
  }
}

}  // namespace

std::size_t SpecGroupOf(int number) {
  static const std::array<int, kSpecGroups.size()> numbers = [] {
    std::array<int, kSpecGroups.size()> found;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto* field = v1::TrialSpec::descriptor()->FindFieldByName(kSpecGroups[i]);
      INLIER_CHECK(field != nullptr);
      found[i] = field->number();
    }
    return found;
  }();
  return static_cast<std::size_t>(std::find(numbers.begin(), numbers.end(), number) - numbers.begin());
}

std::string PackedRest(std::string_view packed) {
  std::string rest;
  const bool is_message = WalkFields(packed, [&rest](int number, std::string_view field) {
    if (SpecGroupOf(number) == kSpecGroups.size()) rest += field;
  });
  return is_message ? rest : "";
}

PackedParts SplitPacked(std::string_view packed) {
  PackedParts parts;
  bool is_twice = false;
  const auto put = [&is_twice](std::string_view field, std::string_view& part) {
    is_twice = is_twice || !part.empty();
    part = field;
  };
  const bool is_message = WalkFields(packed, [&](int number, std::string_view field) {
    if (const std::size_t group = SpecGroupOf(number); group < kSpecGroups.size()) {
      put(field, parts.groups[group]);
    } else if (number == v1::TrialSpec::kSeedFieldNumber) {
      put(field, parts.seed);
    } else {
      parts.rest += field;
    }
  });
  if (is_message && !is_twice) return parts;
  return {.seed = {}, .rest = std::string(packed), .groups = {}};
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
