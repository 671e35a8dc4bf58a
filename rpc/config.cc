#include "rpc/config.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "spec/schema/overrides.h"
#include "spec/schema/param_range.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;

// Writes the declared default of each scalar that has one and is not set. Configurations are flat.
void FillDefaults(google::protobuf::Message& config) {
  const google::protobuf::Descriptor* descriptor = config.GetDescriptor();
  const google::protobuf::Reflection* reflection = config.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->is_repeated() || !field->has_default_value() || reflection->HasField(config, field)) continue;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection->SetUInt32(&config, field, field->default_value_uint32());
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection->SetString(&config, field, field->default_value_string());
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(&config, field, field->default_value_bool());
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection->SetDouble(&config, field, field->default_value_double());
        break;
      default:
        break;
    }
  }
}

}  // namespace

absl::Status LoadConfig(const std::string& file, const std::vector<std::string>& overrides,
                        google::protobuf::Message& config) {
  SourceMap positions;
  if (!file.empty()) RETURN_IF_ERROR(ReadYamlFile(file, &config, &positions));
  RETURN_IF_ERROR(ApplyOverrides(&config, overrides));
  Problems problems;
  CheckDeclarations(config, "", &problems);
  if (!problems.empty() && !file.empty()) return positions.ToStatus(file, problems);
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        problems.ToStatus().message(), "\nGive it as --set FIELD=VALUE, or in a file as --config FILE"));
  }
  FillDefaults(config);
  return absl::OkStatus();
}

std::string DescribeConfig(const google::protobuf::Message& config) {
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(config, &json, options).ok())
    return config.ShortDebugString();
  return json;
}

}  // namespace inlier
