#include "coordinator/store/sweep_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "spec/schema/struct_value.h"

namespace inlier {
namespace {

// Takes lists of plain numbers out of the axes: they may have a hundred thousand, which protobuf reads
// slowly.
std::vector<std::vector<double>> TakeNumbers(nlohmann::json& sweep) {
  std::vector<std::vector<double>> taken;
  if (!sweep.is_object() || !sweep.contains("axes") || !sweep["axes"].is_array()) return taken;
  for (nlohmann::json& axis : sweep["axes"]) {
    std::vector<double>& numbers = taken.emplace_back();
    if (!axis.is_object() || !axis.contains("values") || !axis["values"].is_array()) continue;
    const nlohmann::json& values = axis["values"];
    if (!std::ranges::all_of(values, [](const auto& value) { return value.is_number(); })) continue;
    for (const nlohmann::json& value : values) numbers.push_back(value.get<double>());
    axis.erase("values");
  }
  return taken;
}

}  // namespace

absl::StatusOr<std::string> SweepSpecToJson(const v1::SweepSpec& spec) {
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

std::string ValuesJson(const v1::SearchPoint& point) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : point.values().fields()) {
    const double number = value.number_value();
    if (value.kind_case() != google::protobuf::Value::kNumberValue) {
      json[name] = ValueText(value);
    } else if (std::trunc(number) == number && std::abs(number) < 1e15) {
      json[name] = static_cast<std::int64_t>(number);
    } else {
      json[name] = number;
    }
  }
  return json.dump();
}

std::string ToldJson(const v1::SearchPoint& point) {
  return nlohmann::json(std::vector<std::uint32_t>(point.told().begin(), point.told().end())).dump();
}

absl::StatusOr<v1::SearchPoint> SearchPointFromJson(const std::string& values, const std::string& told) {
  v1::SearchPoint point;
  const auto numbers = nlohmann::json::parse(told, nullptr, /*allow_exceptions=*/false);
  bool read = google::protobuf::util::JsonStringToMessage(values, point.mutable_values()).ok();
  for (const nlohmann::json& number : numbers) {
    read = read && number.is_number_unsigned();
    if (read) point.add_told(number.get<std::uint32_t>());
  }
  if (read && numbers.is_array()) return point;
  return absl::DataLossError(absl::StrCat("a stored point of a search cannot be read: ", values, " ", told));
}

}  // namespace inlier
