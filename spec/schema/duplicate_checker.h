// Rejects a field or oneof that is set twice in one mapping, nested or by a path in dots.
//
// Thread safety: none.
#ifndef INLIER_SPEC_SCHEMA_DUPLICATE_CHECKER_H_
#define INLIER_SPEC_SCHEMA_DUPLICATE_CHECKER_H_

#include <map>
#include <string>

#include "google/protobuf/descriptor.h"
#include "spec/schema/problems.h"

namespace inlier {

class DuplicateChecker {
 public:
  // Enters `field` of the group at `prefix`. Returns "" or the problem, which names the `where` of the first setting.
  std::string Enter(const std::string& prefix, const google::protobuf::FieldDescriptor* field,
                    const std::string& where) {
    const auto* choice = field->containing_oneof();
    if (choice == nullptr) return "";
    const auto [it, first] =
        members_.try_emplace(prefix + "/" + choice->name(), Setting{field->name(), where});
    if (first || it->second.member == field->name()) return "";
    return it->second.member + " is given" + it->second.where +
           " and the two exclude each other: give one of them";
  }

  // Sets the field at `path`. Returns "" or the problem.
  std::string Claim(const std::string& path, const std::string& where) {
    const auto [it, first] = values_.try_emplace(path, where);
    return first
               ? ""
               : "is given twice" + (it->second.empty() ? "" : " (first" + it->second + ")") + ": remove one";
  }

 private:
  struct Setting {
    std::string member;
    std::string where;  // " on line 3", or "".
  };
  std::map<std::string, Setting> members_;
  std::map<std::string, std::string> values_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_DUPLICATE_CHECKER_H_
