// A resolved TrialSpec in its parts: its groups by themselves, because the trials of a sweep share most of
// them, and the rest. The store keeps it so.
//
// Thread safety: pure functions.
#ifndef INLIER_PROTO_SPEC_SPEC_PARTS_H_
#define INLIER_PROTO_SPEC_SPEC_PARTS_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace inlier {

// The groups of TrialSpec, all its messages, in the order of their numbers; the table trial_spec has a column
// for each.
inline constexpr std::array<const char*, 6> kSpecGroups = {"model",    "attention",    "data",
                                                           "training", "quantization", "evaluation"};

// Which of them has this field number; their number: none.
std::size_t SpecGroupOf(int number);

struct SpecParts {
  std::string rest;                                         // An object without the groups.
  std::array<std::string_view, kSpecGroups.size()> groups;  // Of the JSON that was split; empty: not there.
};

// Takes a JSON object apart; one that is no object, or not written as compactly as ResolvedJson, is all rest.
SpecParts SplitSpec(std::string_view json);

// A serialised TrialSpec without the groups; empty when it is none.
std::string PackedRest(std::string_view packed);

// A serialised TrialSpec taken apart: its parts one after the other say the same.
struct PackedParts {
  std::string_view seed;  // What the trials of a sweep differ in most often.
  std::string rest;       // Neither the seed nor a group.
  std::array<std::string_view, kSpecGroups.size()> groups;  // Each with its tag; empty: not there.
};
// The views are into `packed`. What is no TrialSpec, or has a part twice, is all rest.
PackedParts SplitPacked(std::string_view packed);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_SPEC_PARTS_H_
