// Rounds the tensors of a safetensors file as a quantized GPT-2 of RMSNorm:
//   round_tensors SPEC.json IN.safetensors OUT.safetensors …      SPEC is a QuantizationSpec of absmax or zeropoint.
// By the last part of a tensor's name, before it the site: `weight` (out, in) and `input` (…, in) of a linear, `keys` and `values`
// of an attention, which are rounded; `gain` of a norm and `calibration` (…, in) of a linear, which are seen before.
#include <string>

#include "core/quant/make_quantization.h"
#include "tests/core/quant/tensor_program.h"

namespace inlier {
namespace {

absl::Status Calibrate(const TensorMap& tensors, Quantization& quantization) {
  quantization.OnPass({});
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(".gain")) quantization.OnWeight(name.substr(0, name.rfind('.')), tensor);
  }
  for (const auto& [name, tensor] : tensors) {
    if (!name.ends_with(".calibration")) continue;
    const std::string site = name.substr(0, name.rfind('.'));
    quantization.OnLinearInput(site, tensor);
    quantization.OnLinearWeight(site, tensors.at(site + ".weight"));
  }
  return quantization.Freeze();
}

absl::StatusOr<TensorMap> Round(const v1::QuantizationSpec& spec, const TensorMap& tensors) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Quantization> quantization,
                   MakeQuantization(spec, v1::ModelSpec::kGpt2));
  RETURN_IF_ERROR(Calibrate(tensors, *quantization));
  TensorMap rounded;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t dot = name.rfind('.');
    const std::string site = name.substr(0, dot), part = name.substr(dot + 1);
    if (part == "weight") rounded[name] = quantization->OnLinearWeight(site, tensor);
    if (part == "input") rounded[name] = quantization->OnLinearInput(site, tensor);
    if (part == "keys") rounded[name] = quantization->OnKeys(site, tensor);
    if (part == "values") rounded[name] = quantization->OnValues(site, tensor);
  }
  return rounded;
}

}  // namespace
}  // namespace inlier

int main(int count, char** arguments) { return inlier::RunTensorProgram(count, arguments, inlier::Round); }
