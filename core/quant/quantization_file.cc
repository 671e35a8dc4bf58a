#include "core/quant/quantization_file.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "core/quant/linear/linear_options.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormula[] =
    "x' = scale * (clamp(round(x / scale) + zero_point, integer_min, integer_max) - zero_point), round half "
    "to "
    "even, one scale a tensor or one for each slice of its first axis (weights: out, in); with group_size "
    "one for "
    "each group of so many entries of a slice, the last group of a slice may be smaller";

const char* Section(QuantizedPart part) {
  switch (part) {
    case QuantizedPart::kWeight:
      return "weights";
    case QuantizedPart::kActivation:
      return "activations";
    case QuantizedPart::kInput:
      return "inputs";
    case QuantizedPart::kOutput:
      return "outputs";
    case QuantizedPart::kKeys:
      return "keys";
    case QuantizedPart::kValues:
      return "values";
  }
  return "";
}

const char* ScopeName(ScaleScope scope) {
  switch (scope) {
    case ScaleScope::kTensor:
      return "tensor";
    case ScaleScope::kRow:
      return "row";
    case ScaleScope::kColumn:
      return "column";
  }
  return "";
}

// The first field that the file cannot express; empty where it can express all.
std::string FieldWithoutForm(const v1::QuantizationSpec& spec) {
  if (spec.weights().format() != v1::INTEGER) return "weights.format";
  if (spec.activations().format() != v1::INTEGER) return "activations.format";
  if (spec.activations().has_group_size()) return "activations.group_size";
  if (spec.has_rotation()) return "rotation";
  if (spec.has_smoothing()) return "smoothing";
  if (spec.has_gptq()) return "gptq";
  if (spec.has_awq()) return "awq";
  if (spec.has_kv_cache()) return "kv_cache";
  return "";
}

bool AreFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace

absl::StatusOr<std::string> QuantizationFile(const v1::QuantizationSpec& spec,
                                             const std::vector<QuantizerReport>& table) {
  if (const std::string field = FieldWithoutForm(spec); !field.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("quantization.", field,
                     ": the file of an exported model supports only integers rounded to the nearest; "
                     "export the trial without quantization, or with --weights-only"));
  }
  std::optional<LinearQuantizationOptions> linear;
  if (spec.has_absmax() || spec.has_zeropoint()) {
    ASSIGN_OR_RETURN(linear, LinearQuantizationOptionsFromSpec(spec));
  }
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string spec_json;
  INLIER_CHECK(google::protobuf::util::MessageToJsonString(spec, &spec_json, options).ok());
  Json file = {{"spec", Json::parse(spec_json)}, {"formula", kFormula}};
  for (const QuantizerReport& report : table) {
    Json rule = {{"bits", report.bits},
                 {"symmetric", report.symmetric},
                 {"integer_min", report.grid.integer_min},
                 {"integer_max", report.grid.integer_max}};
    const bool each_tensor = linear && !linear->calibrated && !report.is_weight();
    if (each_tensor) {
      const auto& part = report.part == QuantizedPart::kInput ? linear->inputs : linear->outputs;
      rule["grid"] = linear->grid == LinearQuantizationOptions::Grid::kAbsmax ? "absmax" : "zeropoint";
      rule["scope"] = ScopeName(part->scope);
    } else {
      if (!AreFinite(report.grid.scale) || !AreFinite(report.grid.zero_point)) {
        return absl::FailedPreconditionError(
            absl::StrCat(report.site,
                         ": its range is not finite, so the quantized model gives no numbers; "
                         "export the trial without quantization"));
      }
      rule["scale"] = report.grid.scale;
      rule["zero_point"] = report.grid.zero_point;
      if (report.group_size > 0) rule["group_size"] = report.group_size;
      if (!report.range.minimum.empty())
        rule["range"] = {{"minimum", report.range.minimum}, {"maximum", report.range.maximum}};
    }
    file[Section(report.part)][report.site] = rule;
  }
  return file.dump(1) + "\n";
}

}  // namespace inlier
