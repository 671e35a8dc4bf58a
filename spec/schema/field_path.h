// A field below a message by its name in dots: "attention.softmax.clipped.gamma".
//
// The one way in which sweeps, `--set`, the reader and the reference page name a hyper-parameter. A path is
// resolved once against a descriptor and can then be used with every message of that type. Setting a member
// of a oneof replaces the other member (in a sweep's axis that is what is meant).
//
// Errors: InvalidArgument; the message begins with the path and names the remedy. Thread safety: values.
#ifndef INLIER_SPEC_SCHEMA_FIELD_PATH_H_
#define INLIER_SPEC_SCHEMA_FIELD_PATH_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/struct.pb.h"
#include "inlier/v1/param_options.pb.h"

namespace inlier {

// True for a message of further fields, false for a leaf: a number, text, choice of words or true/false.
inline bool IsGroup(const google::protobuf::FieldDescriptor* field) {
  return field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
}

// True for a field that inlier writes and no path names.
inline bool IsMade(const google::protobuf::FieldDescriptor* field) {
  return field->options().GetExtension(v1::param).made();
}

class FieldPath {
 public:
  // Refuses unknown names (with the nearest one among the siblings, then among all paths) and repeated fields.
  static absl::StatusOr<FieldPath> Parse(const google::protobuf::Descriptor* root, std::string_view text);

  // The same for a path that must exist.
  static FieldPath Known(const google::protobuf::Descriptor* root, std::string_view text);

  // The same for callers that name the place themselves: "" when `path` was set, else the problem without the path.
  static std::string TryParse(const google::protobuf::Descriptor* root, std::string_view text,
                              FieldPath* path);

  const std::string& text() const { return text_; }
  // From the root down; at least one.
  const std::vector<const google::protobuf::FieldDescriptor*>& fields() const { return fields_; }
  const google::protobuf::FieldDescriptor* field() const { return fields_.back(); }
  const std::string& last_word() const { return field()->name(); }
  bool is_leaf() const { return !IsGroup(field()); }

  // Sets a leaf from text as on the command line ("-0.03", "true", "GELU_ERF"); a group takes "{}", which
  // makes it present. Ranges are not checked: RangeProblem and the validator do.
  absl::Status SetText(std::string_view value, google::protobuf::Message* root) const;
  // The same from a sweep's value. Numbers must fit the type: 2e3 is an integer, 0.5 is not. Groups merge objects.
  absl::Status SetValue(const google::protobuf::Value& value, google::protobuf::Message* root) const;

  // The message that has the field, made where it is absent.
  google::protobuf::Message* MutableParent(google::protobuf::Message* root) const;
  // The same to read, with defaults where it is absent.
  const google::protobuf::Message& Parent(const google::protobuf::Message& root) const;
  // True when the field itself is present.
  bool Has(const google::protobuf::Message& root) const;
  // Removes the field; the groups above it stay.
  void Clear(google::protobuf::Message* root) const;
  // The leaf's value, or its default, in the spelling of LeafText. REQUIRES: is_leaf().
  std::string GetText(const google::protobuf::Message& root) const;

 private:
  std::string text_;
  std::vector<const google::protobuf::FieldDescriptor*> fields_;
};

// Paths of all leaves below `root`, in field order; repeated fields, maps and what inlier writes are left out.
std::vector<std::string> AllLeafPaths(const google::protobuf::Descriptor* root);

// The names of an enum's values, in the order of their declarations.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor* type);

// The valid names in a mapping for `type`, in field order.
std::vector<std::string> FieldNames(const google::protobuf::Descriptor* type);

// Sets the leaf `field` of `parent`. Returns "" or the problem without the path ("\"x\" is not a number; ...").
std::string SetLeafText(const google::protobuf::FieldDescriptor* field, std::string_view text,
                        google::protobuf::Message* parent);
std::string SetLeafValue(const google::protobuf::FieldDescriptor* field, const google::protobuf::Value& value,
                         google::protobuf::Message* parent);

// The member of the oneof `choice` that is set, or its default_member, or "".
std::string ChosenMember(const google::protobuf::Message& message, const std::string& choice);

// The value of a leaf, or its default, as compact text: "-0.03", "true", "MLM", a text as it is.
std::string LeafText(const google::protobuf::FieldDescriptor* field, const google::protobuf::Message& parent);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_FIELD_PATH_H_
