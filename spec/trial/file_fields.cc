#include "spec/trial/file_fields.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "spec/schema/field_path.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Check = std::function<absl::Status(const std::string&)>;
using Visit = std::function<void(const std::string& path, v1::FileUse use, const std::string& value)>;

v1::FileUse UseOf(const FieldDescriptor* field) { return field->options().GetExtension(v1::param).file(); }

// True when a field of `type`, or of a message below it, names files. Kept for each thread: descriptors are slow.
bool HasFileFields(const Descriptor* type) {
  thread_local std::vector<std::pair<const Descriptor*, bool>> known;
  for (const auto& [descriptor, has] : known) {
    if (descriptor == type) return has;
  }
  bool has = false;
  for (int i = 0; i < type->field_count() && !has; ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_repeated()) continue;
    has = IsGroup(field) ? HasFileFields(field->message_type()) : UseOf(field) != v1::NO_FILE;
  }
  known.emplace_back(type, has);
  return has;
}

// `visit` sees the fields with a value, `copy` gets those that are set, with their messages. Either may be null.
void Walk(const Message& message, const std::string& prefix, const Visit& visit, Message* copy) {
  const Reflection& reflection = *message.GetReflection();
  const Descriptor* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_repeated()) continue;
    const bool set = reflection.HasField(message, field);
    if (IsGroup(field)) {
      if (!set || !HasFileFields(field->message_type())) continue;
      Walk(reflection.GetMessage(message, field), visit ? JoinPath(prefix, field->name()) : "", visit,
           copy ? copy->GetReflection()->MutableMessage(copy, field) : nullptr);
      continue;
    }
    const v1::FileUse use = UseOf(field);
    if (use == v1::NO_FILE || (!set && !field->has_default_value())) continue;
    const std::string value = reflection.GetString(message, field);
    if (visit) visit(JoinPath(prefix, field->name()), use, value);
    if (copy && set) reflection.SetString(copy, field, value);
  }
}

absl::Status CheckText(v1::FileUse use, const std::string& value, const Check& check) {
  switch (use) {
    case v1::NO_FILE:
    case v1::PROGRAM:  // A name among those that the worker's owner gave.
      return absl::OkStatus();
    case v1::NAME_OR_PATH:
      if (value.starts_with('/')) return check(value);
      [[fallthrough]];
    case v1::FILE_NAME:
      if (value.find('/') == std::string::npos && value != "." && value != "..") return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(value), " is not a name, which stays in its folder; give one without a slash"));
    case v1::FILE_PATH:
      return check(value);
  }
  return absl::InternalError("unknown use of a file");
}

}  // namespace

void VisitFileFields(const v1::TrialSpec& spec, const Visit& visit) { Walk(spec, "", visit, nullptr); }

v1::TrialSpec FileFieldsOf(const v1::TrialSpec& spec) {
  v1::TrialSpec fields;
  Walk(spec, "", nullptr, &fields);
  return fields;
}

absl::Status CheckFilePaths(const v1::TrialSpec& spec, const Check& check) {
  absl::Status first;
  VisitFileFields(spec, [&](const std::string& path, v1::FileUse use, const std::string& value) {
    if (!first.ok()) return;
    const absl::Status status = CheckText(use, value, check);
    if (!status.ok())
      first = absl::Status(status.code(), absl::StrCat(path, ": ", std::string(status.message())));
  });
  return first;
}

}  // namespace inlier
