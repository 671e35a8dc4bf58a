#include "spec/trial/file_fields.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "inlier/v1/param_options.pb.h"
#include "spec/schema/field_path.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Check = std::function<absl::Status(const std::string&)>;

absl::Status CheckText(v1::FileUse use, const std::string& value, const Check& check) {
  switch (use) {
    case v1::NO_FILE:
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

absl::Status CheckBelow(const Message& message, const std::string& prefix, const Check& check) {
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    const std::string path = JoinPath(prefix, field->name());
    if (field->is_repeated()) continue;  // A trial has none.
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      RETURN_IF_ERROR(CheckBelow(message.GetReflection()->GetMessage(message, field), path, check));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      const absl::Status status = CheckText(field->options().GetExtension(v1::param).file(),
                                            message.GetReflection()->GetString(message, field), check);
      if (!status.ok())
        return absl::Status(status.code(), absl::StrCat(path, ": ", std::string(status.message())));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFilePaths(const v1::TrialSpec& spec, const Check& check) {
  return CheckBelow(spec, "", check);
}

}  // namespace inlier
