// The claims of a partial TrialSpec: the leaves it sets and the members it chooses, which exclude others.
#ifndef INLIER_SPEC_SWEEP_PATCH_CLAIMS_H_
#define INLIER_SPEC_SWEEP_PATCH_CLAIMS_H_

#include <compare>
#include <map>
#include <set>
#include <string>

#include "google/protobuf/message.h"

namespace inlier {

struct PatchClaims {
  std::set<std::string> leaves;
  // Group that holds the choice and the choice's name ("attention.softmax/kind") -> member.
  std::map<std::string, std::string> members;

  friend auto operator<=>(const PatchClaims&, const PatchClaims&) = default;
};

PatchClaims ClaimsOf(const google::protobuf::Message& patch);

// "sets training.steps" or "chooses clipped for attention.softmax where vanilla is chosen,"; "" when both can hold.
std::string ConflictOf(const PatchClaims& earlier, const PatchClaims& later);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_PATCH_CLAIMS_H_
