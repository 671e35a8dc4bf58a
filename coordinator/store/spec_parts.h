// How a resolved TrialSpec is stored: its groups by themselves, because the trials of a sweep share most of
// them.
//
// For the .cc files of this folder, and for what the orchestrator keeps in memory. Thread safety: pure
// functions.
#ifndef INLIER_COORDINATOR_STORE_SPEC_PARTS_H_
#define INLIER_COORDINATOR_STORE_SPEC_PARTS_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace inlier {

// Groups of TrialSpec that trial_spec has a column for. Others stay in its column `spec`.
inline constexpr std::array<const char*, 6> kSpecGroups = {"model",    "attention",    "data",
                                                           "training", "quantization", "evaluation"};

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

#endif  // INLIER_COORDINATOR_STORE_SPEC_PARTS_H_
