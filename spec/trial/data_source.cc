#include "spec/trial/data_source.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "inlier/v1/param_options.pb.h"
#include "spec/trial/canonical.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool NamesFiles(const FieldDescriptor* field) {
  const v1::ParamOptions& param = field->options().GetExtension(v1::param);
  return param.has_file() && param.file() != v1::NO_FILE;
}

// True when a field of `type`, or of a message below it, names files. Kept for each thread: descriptors are slow
// to ask.
bool HasNames(const Descriptor* type) {
  thread_local std::vector<std::pair<const Descriptor*, bool>> known;
  for (const auto& [descriptor, has] : known) {
    if (descriptor == type) return has;
  }
  bool has = false;
  for (int i = 0; i < type->field_count() && !has; ++i) {
    const FieldDescriptor* field = type->field(i);
    has = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ? HasNames(field->message_type())
                                                                : NamesFiles(field);
  }
  known.emplace_back(type, has);
  return has;
}

// Calls `visit(message, field)` for each field of `message`, or below it, that names files and has a value, with
// its path; a default is a value.
template <typename Visit>
void VisitNames(const Message& message, const std::string& path, const Visit& visit) {
  const Reflection& reflection = *message.GetReflection();
  const Descriptor* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!reflection.HasField(message, field) || !HasNames(field->message_type())) continue;
      VisitNames(reflection.GetMessage(message, field), absl::StrCat(path, field->name(), "."), visit);
    } else if (NamesFiles(field) && (reflection.HasField(message, field) || field->has_default_value())) {
      visit(absl::StrCat(path, field->name()), reflection.GetString(message, field));
    }
  }
}

void CopyNames(const Message& from, Message* to) {
  const Reflection& reflection = *from.GetReflection();
  const Descriptor* type = from.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (!reflection.HasField(from, field)) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (HasNames(field->message_type()))
        CopyNames(reflection.GetMessage(from, field), reflection.MutableMessage(to, field));
    } else if (NamesFiles(field)) {
      reflection.SetString(to, field, reflection.GetString(from, field));
    }
  }
}

}  // namespace

v1::TrialSpec DataSourceOf(const v1::TrialSpec& resolved) {
  v1::TrialSpec source;
  CopyNames(resolved, &source);
  return source;
}

std::string DataSourceNames(const v1::TrialSpec& resolved) { return CanonicalJson(DataSourceOf(resolved)); }

std::string DataSourceText(const std::string& names) {
  const absl::StatusOr<v1::TrialSpec> source = TrialSpecFromJson(names);
  if (!source.ok()) return names;
  std::string text;
  VisitNames(*source, "", [&](const std::string& path, const std::string& value) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", path, " ", value);
  });
  return text;
}

}  // namespace inlier
