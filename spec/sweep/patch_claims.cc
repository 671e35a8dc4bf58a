#include "spec/sweep/patch_claims.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "spec/schema/field_path.h"

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

// What `sets` decides of `unset`; "" for nothing.
std::string DecidedOf(const std::set<std::string>& unset, const PatchClaims& sets) {
  for (const std::string& path : unset) {
    for (const std::string& leaf : sets.leaves) {
      if (IsAtOrBelow(leaf, path)) return leaf;
    }
    for (const auto& [choice, member] : sets.members) {
      if (IsAtOrBelow(choice.substr(0, choice.find('/')), path)) return path;
    }
  }
  return "";
}

void AddNulls(const google::protobuf::Struct& from, const std::string& prefix,
              std::vector<std::string>* nulls) {
  for (const auto& [key, value] : from.fields()) {
    const std::string path = JoinPath(prefix, key);
    if (value.kind_case() == google::protobuf::Value::kNullValue) nulls->push_back(path);
    AddNulls(value.struct_value(), path, nulls);
  }
}

}  // namespace

bool IsAtOrBelow(const std::string& path, const std::string& parent) {
  return path.starts_with(parent) && (path.size() == parent.size() || path[parent.size()] == '.');
}

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
  if (const std::string path = DecidedOf(earlier.unset, later); !path.empty())
    return "sets " + path + ", which null is to leave unset,";
  if (const std::string path = DecidedOf(later.unset, earlier); !path.empty())
    return "is to leave " + path + " unset by null, and cannot set it";
  return "";
}

std::vector<std::string> NullPaths(const google::protobuf::Struct& from) {
  std::vector<std::string> nulls;
  AddNulls(from, "", &nulls);
  std::ranges::sort(nulls);
  return nulls;
}

void CheckUnset(const v1::SweepSpec& sweep, const TrialForm& form, const std::string& path,
                const std::string& place, Problems* problems) {
  FieldPath field;
  if (!FieldPath::TryParse(form.descriptor(), path, &field).empty()) return;  // Reported by others.
  Problems of_form;                                                           // The same.
  if (field.Has(*form.Read(sweep.base(), &of_form)))
    problems->Add(place, absl::StrCat("null leaves ", path,
                                      " unset, and base sets it; set it in the other points alone"));
  for (const auto& [tied, expression] : sweep.tied()) {
    if (IsAtOrBelow(tied, path))
      problems->Add(place, absl::StrCat("null leaves ", path, " unset, and tied sets ", tied,
                                        "; leave it out here or in tied"));
  }
}

}  // namespace inlier
