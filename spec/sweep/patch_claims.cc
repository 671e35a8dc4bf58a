#include "spec/sweep/patch_claims.h"

#include <vector>

#include "google/protobuf/descriptor.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

void CollectClaims(const google::protobuf::Message& patch, const std::string& prefix, PatchClaims* claims) {
  std::vector<const google::protobuf::FieldDescriptor*> present;
  patch.GetReflection()->ListFields(patch, &present);
  for (const auto* field : present) {
    const std::string path = JoinPath(prefix, field->name());
    if (const auto* choice = field->containing_oneof())
      claims->members[prefix + "/" + choice->name()] = field->name();
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      CollectClaims(patch.GetReflection()->GetMessage(patch, field), path, claims);
    } else {
      claims->leaves.insert(path);
    }
  }
}

}  // namespace

PatchClaims ClaimsOf(const google::protobuf::Message& patch) {
  PatchClaims claims;
  CollectClaims(patch, "", &claims);
  return claims;
}

std::string ConflictOf(const PatchClaims& earlier, const PatchClaims& later) {
  for (const auto& [choice, member] : later.members) {
    const auto it = earlier.members.find(choice);
    if (it == earlier.members.end() || it->second == member) continue;
    return "chooses " + member + " for " + choice.substr(0, choice.find('/')) + " where " + it->second +
           " is chosen,";
  }
  for (const std::string& leaf : later.leaves) {
    if (earlier.leaves.count(leaf) > 0) return "sets " + leaf;
  }
  return "";
}

}  // namespace inlier
