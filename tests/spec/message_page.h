// docs/reference/sweep.md and docs/reference/configuration.md: every key of a file that people write, from the messages themselves.
#ifndef INLIER_TESTS_SPEC_MESSAGE_PAGE_H_
#define INLIER_TESTS_SPEC_MESSAGE_PAGE_H_

#include <algorithm>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/descriptor_comments.h"
#include "spec/trial/param_reference.h"

namespace inlier {

inline std::string PageText(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped;
}

// "OneWord": the heading of a message, and where links to it lead.
inline std::string SectionLink(const google::protobuf::Descriptor* type) {
  std::string anchor = type->name();
  std::transform(anchor.begin(), anchor.end(), anchor.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return "[" + type->name() + "](#" + anchor + ")";
}

// A message whose fields people write. The reader writes what a program is.
inline bool IsOwnMessage(const google::protobuf::FieldDescriptor* field) {
  return field->message_type() != nullptr && field->message_type()->file()->package() != "google.protobuf" &&
         field->message_type()->name() != "ProgramUse";
}

// The form of a value: "list of Axis", "map of labels", "number; from 0 to 1".
inline std::string KeyTakes(const google::protobuf::FieldDescriptor* field) {
  if (field->is_map()) {
    const google::protobuf::FieldDescriptor* value = field->message_type()->FindFieldByName("value");
    return "map of names to " + (IsOwnMessage(value) ? SectionLink(value->message_type())
                                                     : std::string("a value or a list of values"));
  }
  std::string takes;
  if (field->message_type() == nullptr) {
    takes = PageText(Facts(DescribeField(field, "")));
  } else if (field->message_type()->name() == "TrialSpec") {
    takes = "fields of a [trial](parameters.md)";
  } else if (field->message_type()->name() == "ProgramUse") {
    takes = "name or folder of a program";
  } else if (field->message_type()->name() == "Struct") {
    takes = "fields of a [trial](parameters.md)";
  } else if (IsOwnMessage(field)) {
    takes = SectionLink(field->message_type());
  } else {
    takes = "value";
  }
  return (field->is_repeated() ? "list of " : "") + takes;
}

// The meaning of a key; of an enum also of each value.
inline std::string KeyMeaning(const google::protobuf::FieldDescriptor* field) {
  std::string meaning = CommentOf(field->full_name());
  for (int i = 0; field->enum_type() != nullptr && i < field->enum_type()->value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor* value = field->enum_type()->value(i);
    const std::string comment = CommentOf(value->full_name());
    if (!comment.empty()) meaning += "<br>" + value->name() + ": " + comment;
  }
  return meaning;
}

// A section for `type` and, after it, for each message that its keys take.
inline void AppendSections(const google::protobuf::Descriptor* type,
                           std::vector<const google::protobuf::Descriptor*>& done, std::string& page) {
  if (std::find(done.begin(), done.end(), type) != done.end() || type->name() == "TrialSpec") return;
  done.push_back(type);
  page += "\n## " + type->name() + "\n\n";
  const std::string comment = CommentOf(type->full_name());
  if (!comment.empty()) page += comment + "\n\n";
  for (int i = 0; i < type->oneof_decl_count(); ++i) {
    std::string members;
    for (int j = 0; j < type->oneof_decl(i)->field_count(); ++j)
      members += (members.empty() ? "`" : ", `") + type->oneof_decl(i)->field(j)->name() + "`";
    page += "Exactly one of " + members + ".\n\n";
  }
  page += "| key | takes | meaning |\n|---|---|---|\n";
  std::vector<const google::protobuf::Descriptor*> next;
  for (int i = 0; i < type->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = type->field(i);
    page += "| `" + field->name() + "` | " + KeyTakes(field) + " | " + PageText(KeyMeaning(field)) + " |\n";
    const google::protobuf::FieldDescriptor* of =
        field->is_map() ? field->message_type()->FindFieldByName("value") : field;
    if (IsOwnMessage(of)) next.push_back(of->message_type());
  }
  for (const google::protobuf::Descriptor* each : next) AppendSections(each, done, page);
}

inline std::string SweepFileMarkdown() {
  std::string page =
      "# The sweep file\n"
      "\n"
      "Generated from proto/inlier/v1/sweep_spec.proto: every key of a sweep's YAML file. "
      "[guides/sweep-file.md](../guides/sweep-file.md) has examples; the fields of `base` and\n"
      "`set` are in [parameters.md](parameters.md), the measurements of tables, figures and pruning in "
      "[measurements.md](measurements.md).\n";
  std::vector<const google::protobuf::Descriptor*> done;
  AppendSections(v1::SweepSpec::descriptor(), done, page);
  return page;
}

inline std::string ConfigurationMarkdown() {
  std::string page =
      "# Configuration of the daemons\n"
      "\n"
      "Generated from proto/inlier/v1/config.proto. A daemon reads YAML with these keys: `inlier-coordinator "
      "--config FILE`, `inlier-worker --config FILE`; "
      "`--set key=value` overrides the file,\n"
      "and is all that is needed without one. `inlier up` and `inlier run` take the same as "
      "`--coordinator-set key=value` and `--worker-set key=value`.\n"
      "\n"
      "[CoordinatorConfig](#coordinatorconfig) · [WorkerConfig](#workerconfig)\n";
  std::vector<const google::protobuf::Descriptor*> done;
  AppendSections(v1::CoordinatorConfig::descriptor(), done, page);
  AppendSections(v1::WorkerConfig::descriptor(), done, page);
  return page;
}

}  // namespace inlier

#endif  // INLIER_TESTS_SPEC_MESSAGE_PAGE_H_
