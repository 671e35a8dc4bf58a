// The claims of a partial TrialSpec: the leaves it sets and the members it chooses, which exclude others.
#ifndef INLIER_SPEC_SWEEP_PATCH_CLAIMS_H_
#define INLIER_SPEC_SWEEP_PATCH_CLAIMS_H_

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "google/protobuf/struct.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/program/trial_form.h"
#include "spec/schema/problems.h"

namespace inlier {

struct PatchClaims {
  std::set<std::string> leaves;
  // Group that holds the choice and the choice's name ("attention.softmax/kind") -> member.
  std::map<std::string, std::string> members;
  std::set<std::string> unset;  // Paths that are to stay unset, added by the caller.

  friend auto operator<=>(const PatchClaims&, const PatchClaims&) = default;
};

PatchClaims ClaimsOf(const google::protobuf::Message& patch);

// True when `path` is `parent`, or a field below it.
bool IsAtOrBelow(const std::string& path, const std::string& parent);

// "sets training.steps" or "chooses clipped for attention.softmax where vanilla is chosen,"; "" when both can hold.
std::string ConflictOf(const PatchClaims& earlier, const PatchClaims& later);

// The paths that are null in a partial message, "attention.gate", sorted: they stay unset.
std::vector<std::string> NullPaths(const google::protobuf::Struct& from);

// Reports, at `place`, what of the sweep sets `path` at every point: its base, or a tie.
void CheckUnset(const v1::SweepSpec& sweep, const TrialForm& form, const std::string& path,
                const std::string& place, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_PATCH_CLAIMS_H_
