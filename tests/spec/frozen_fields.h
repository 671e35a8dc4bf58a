// Everything about TrialSpec's fields that people's files, databases and fingerprints rely on, as text with a
// line for each.
#ifndef INLIER_TESTS_SPEC_FROZEN_FIELDS_H_
#define INLIER_TESTS_SPEC_FROZEN_FIELDS_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "inlier/v1/param_options.pb.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/field_path.h"
#include "spec/schema/problems.h"

namespace inlier {

inline void FrozenFieldsBelow(const google::protobuf::Descriptor* type, const std::string& prefix,
                              const std::string& numbers, std::string* text) {
  for (int i = 0; i < type->oneof_decl_count(); ++i) {
    const auto& choice = type->oneof_decl(i)->options().GetExtension(v1::choice);
    *text += JoinPath(prefix, type->oneof_decl(i)->name()) + " oneof default " +
             (choice.default_member().empty() ? "-" : choice.default_member()) + "\n";
  }
  for (int i = 0; i < type->field_count(); ++i) {
    const auto* field = type->field(i);
    const std::string path = JoinPath(prefix, field->name());
    const std::string number = numbers + (numbers.empty() ? "" : ".") + std::to_string(field->number());
    if (IsMade(field)) {
      *text += path + " " + number + " made\n";
      continue;
    }
    const auto& param = field->options().GetExtension(v1::param);
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      *text += path + " " + number + " group" + (param.may_be_absent() ? " may be absent" : "") + "\n";
      FrozenFieldsBelow(field->message_type(), path, number, text);
      continue;
    }
    std::string values;
    if (field->enum_type() != nullptr) {
      for (int j = 0; j < field->enum_type()->value_count(); ++j) {
        values += (j == 0 ? " " : ",") + field->enum_type()->value(j)->name() + "=" +
                  std::to_string(field->enum_type()->value(j)->number());
      }
    }
    *text +=
        path + " " + number + " " + field->type_name() + values + " default " +
        (field->has_default_value()
             ? LeafText(field, *google::protobuf::MessageFactory::generated_factory()->GetPrototype(type))
             : "-") +
        (param.incidental() ? " incidental" : "") + "\n";
  }
}

inline std::string FrozenFields() {
  std::string text;
  FrozenFieldsBelow(v1::TrialSpec::descriptor(), "", "", &text);
  return text;
}

}  // namespace inlier

#endif  // INLIER_TESTS_SPEC_FROZEN_FIELDS_H_
