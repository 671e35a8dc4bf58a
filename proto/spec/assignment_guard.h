// Sees to it that one mapping says one thing once: no field twice, no two members of one choice.
//
// A field can be reached in two ways (nested, or by a path in dots), so what was said is kept by full path.
// Thread safety: none.
#ifndef INLIER_PROTO_SPEC_ASSIGNMENT_GUARD_H_
#define INLIER_PROTO_SPEC_ASSIGNMENT_GUARD_H_

#include <map>
#include <string>

#include "google/protobuf/descriptor.h"
#include "proto/spec/problems.h"

namespace inlier {

class AssignmentGuard {
 public:
  // Passing through, or arriving at, `field` of the group at `prefix`. "" or what is wrong. `where` is told
  // to the one who comes second.
  std::string Enter(const std::string& prefix, const google::protobuf::FieldDescriptor* field,
                    const std::string& where) {
    const auto* choice = field->containing_oneof();
    if (choice == nullptr) return "";
    const auto [it, first] = members_.try_emplace(prefix + "/" + choice->name(), Said{field->name(), where});
    if (first || it->second.member == field->name()) return "";
    return it->second.member + " is given" + it->second.where +
           " and the two exclude each other: give one of them";
  }

  // Giving the field at `path` its value. "" or what is wrong.
  std::string Claim(const std::string& path, const std::string& where) {
    const auto [it, first] = values_.try_emplace(path, where);
    return first
               ? ""
               : "is given twice" + (it->second.empty() ? "" : " (first" + it->second + ")") + ": remove one";
  }

 private:
  struct Said {
    std::string member;
    std::string where;  // " on line 3", or "".
  };
  std::map<std::string, Said> members_;
  std::map<std::string, std::string> values_;
};

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_ASSIGNMENT_GUARD_H_
