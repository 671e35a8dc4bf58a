#include "rpc/config.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "spec/schema/field_path.h"
#include "spec/schema/overrides.h"
#include "spec/schema/param_range.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;

// Writes the declared default of each number, text and flag that is not set. Configurations are flat.
void FillDefaults(google::protobuf::Message& config) {
  for (int i = 0; i < config.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = config.GetDescriptor()->field(i);
    if (field->has_default_value() && field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM &&
        !config.GetReflection()->HasField(config, field))
      INLIER_CHECK(SetLeafText(field, LeafText(field, config), &config).empty());
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
