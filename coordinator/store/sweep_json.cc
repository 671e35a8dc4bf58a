#include "coordinator/store/sweep_json.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

// Takes lists of plain numbers out of the axes, which may have a hundred thousand and which protobuf reads
// slowly.
std::vector<std::vector<double>> TakeNumbers(nlohmann::json& sweep) {
  std::vector<std::vector<double>> taken;
  if (!sweep.is_object() || !sweep.contains("axes") || !sweep["axes"].is_array()) return taken;
  for (nlohmann::json& axis : sweep["axes"]) {
    std::vector<double>& numbers = taken.emplace_back();
    if (!axis.is_object() || !axis.contains("values") || !axis["values"].is_array()) continue;
    const nlohmann::json& values = axis["values"];
    if (!std::all_of(values.begin(), values.end(), [](const auto& value) { return value.is_number(); }))
      continue;
    for (const nlohmann::json& value : values) numbers.push_back(value.get<double>());
    axis.erase("values");
  }
  return taken;
}

// Whether all numbers below `message` that JSON must hold as numbers (those of google.protobuf.Value) are finite.
bool IsFinite(const google::protobuf::Message& message) {
  if (const auto* value = dynamic_cast<const google::protobuf::Value*>(&message);
      value != nullptr && value->has_number_value() && !std::isfinite(value->number_value()))
    return false;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated() && !IsFinite(reflection.GetMessage(message, field))) return false;
    for (int i = 0; field->is_repeated() && i < reflection.FieldSize(message, field); ++i) {
      if (!IsFinite(reflection.GetRepeatedMessage(message, field, i))) return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> SweepSpecToJson(const v1::SweepSpec& spec) {
  if (!IsFinite(spec))
    return absl::InternalError(
        absl::StrCat("the specification of sweep ", spec.name(), " has a number that is not finite"));
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(spec, &json, options);
  if (!status.ok())
    return absl::InternalError(
        absl::StrCat("the specification of sweep ", spec.name(), " cannot be written: ", status.ToString()));
  return json;
}

absl::StatusOr<v1::SweepSpec> SweepSpecFromJson(const std::string& json) {
  v1::SweepSpec spec;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  nlohmann::json parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  const std::vector<std::vector<double>> numbers = TakeNumbers(parsed);
  const auto status = google::protobuf::util::JsonStringToMessage(
      numbers.empty() ? json : parsed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), &spec,
      options);
  if (!status.ok())
    return absl::DataLossError(
        absl::StrCat("the stored specification of a sweep cannot be read: ", status.ToString()));
  for (std::size_t i = 0; i < numbers.size() && i < static_cast<std::size_t>(spec.axes_size()); ++i) {
    auto& values = *spec.mutable_axes(static_cast<int>(i))->mutable_values();
    values.Reserve(values.size() + static_cast<int>(numbers[i].size()));
    for (const double number : numbers[i]) values.Add()->set_number_value(number);
  }
  return spec;
}

}  // namespace inlier
