#include "core/trial/export/compressed_export.h"

#include <ATen/Functions.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/own_parts.h"
#include "spec/trial/architecture.h"

namespace inlier {
namespace {

using nlohmann::json;

// The first field without a form, with what to do; empty where there is none.
std::string WithoutForm(const v1::TrialSpec& spec) {
  const v1::QuantizationSpec& quantization = spec.quantization();
  const v1::WeightQuantizationSpec& weights = quantization.weights();
  const v1::ActivationQuantizationSpec& inputs = quantization.activations();
  if (!spec.has_quantization()) return "quantization: is not given, and a float model is not compressed";
  if (!spec.model().has_opt() && !spec.model().has_llama())
    return absl::StrCat("model.", std::string(ArchitectureName(spec.model())),
                        ": only the linears of model.opt and model.llama can be compressed");
  if (HasOwnParts(spec)) return "attention, norm or model: has parts that transformers has not";
  if (!quantization.has_weights()) return "quantization.weights: are float, and nothing else is stored";
  if (!quantization.has_absmax() || quantization.absmax().granularity() != v1::AbsmaxSchemeSpec::FINE ||
      (quantization.has_activations() && quantization.absmax().activation_axis() != v1::TOKEN))
    return "quantization: has a form only with absmax: {granularity: FINE, activation_axis: TOKEN}";
  if (quantization.absmax().head()) return "quantization.absmax.head: stays float there";
  if (weights.format() != v1::INTEGER || inputs.format() != v1::INTEGER)
    return "quantization: only INTEGER has a form here";
  if (weights.has_group_rows()) return "quantization.weights.group_rows: has no form";
  if (inputs.has_group_size()) return "quantization.activations.group_size: has no form";
  if (inputs.clip_ratio() != 1) return "quantization.activations.clip_ratio: has no form";
  if (quantization.has_rotation()) return "quantization.rotation: has no form";
  if (quantization.has_smoothing()) return "quantization.smoothing: has no form";
  if (quantization.has_awq()) return "quantization.awq: has no form";
  if (quantization.has_kv_cache()) return "quantization.kv_cache: has no form";
  if (!quantization.has_activations() && weights.bits() != 4 && weights.bits() != 8)
    return absl::StrCat("quantization.weights.bits: ", weights.bits(),
                        " has no form without activations; 4 and 8 have one");
  if (weights.bits() > 8 || (quantization.has_activations() && inputs.bits() > 8))
    return "quantization: more than 8 bits have no form";
  return "";
}

json NumbersOf(std::uint32_t bits, const char* strategy, bool dynamic) {
  return {
      {"num_bits", bits}, {"type", "int"}, {"symmetric", true}, {"strategy", strategy}, {"dynamic", dynamic}};
}

// q + Q, (out, in) int64, in `bits` bits each of the int32 of the result.
at::Tensor Packed(const at::Tensor& integers, int bits) {
  const std::int64_t each = 32 / bits, missing = (each - integers.size(1) % each) % each;
  const at::Tensor whole = at::constant_pad_nd(integers, {0, missing});
  at::Tensor packed = at::zeros({whole.size(0), whole.size(1) / each}, at::kLong);
  for (std::int64_t i = 0; i < each; ++i)
    packed.bitwise_or_(
        whole.slice(1, i, std::nullopt, each).bitwise_left_shift(at::scalar_tensor(i * bits, at::kLong)));
  return packed.where(packed.lt(std::int64_t{1} << 31), packed - (std::int64_t{1} << 32)).to(at::kInt);
}

}  // namespace

absl::Status CheckCompressedTensors(const v1::TrialSpec& resolved) {
  const std::string field = WithoutForm(resolved);
  if (field.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(field, " in the layout of compressed-tensors: export without --compressed-tensors"));
}

std::string CompressedTensorsConfig(const v1::QuantizationSpec& spec) {
  const bool grouped = spec.weights().has_group_size();
  json weights = NumbersOf(spec.weights().bits(), grouped ? "group" : "channel", /*dynamic=*/false);
  if (grouped) weights["group_size"] = spec.weights().group_size();
  json group = {{"targets", {"Linear"}}, {"weights", weights}};
  if (spec.has_activations())
    group["input_activations"] = NumbersOf(spec.activations().bits(), "token", /*dynamic=*/true);
  const json config = {{"quant_method", "compressed-tensors"},
                       {"format", spec.has_activations() ? "int-quantized" : "pack-quantized"},
                       {"quantization_status", "compressed"},
                       {"ignore", {"lm_head"}},
                       {"config_groups", {{"group_0", group}}}};
  return config.dump();
}

void CompressWeights(const v1::QuantizationSpec& spec, Quantization& quantization, TensorMap* tensors) {
  for (const QuantizerReport& report : quantization.Table()) {
    if (!report.is_weight()) continue;
    const std::string name = absl::StrCat(absl::StripSuffix(report.site, "_act"), ".weight");  // OPT's fc1.
    const auto found = tensors->find(name);
    INLIER_CHECK(found != tensors->end());
    const at::Tensor used = quantization.OnLinearWeight(report.site, found->second);
    const std::int64_t rows = used.size(0), columns = used.size(1);
    const at::Tensor scale = at::tensor(report.grid.scale, at::kDouble).view({rows, -1});
    at::Tensor of_columns = scale;
    if (report.group_size > 0)
      of_columns = scale.repeat_interleave(report.group_size, 1).slice(1, 0, columns);
    const at::Tensor integers = used.to(at::kDouble).div(of_columns).round().to(at::kLong);
    tensors->erase(found);
    (*tensors)[name + "_scale"] = scale.to(at::kFloat);
    if (spec.has_activations()) {
      (*tensors)[name] = integers.to(at::kChar);
      continue;
    }
    const int bits = static_cast<int>(spec.weights().bits());
    (*tensors)[name + "_packed"] = Packed(integers + (std::int64_t{1} << (bits - 1)), bits);
    (*tensors)[name + "_shape"] = at::tensor(std::vector<std::int64_t>{rows, columns}, at::kLong);
  }
}

}  // namespace inlier
