// Rounds the tensors of a safetensors file as a quantized GPT-2 of RMSNorm:
//   round_tensors SPEC.json IN.safetensors OUT.safetensors …      SPEC is a QuantizationSpec of absmax or zeropoint.
// By the last part of a tensor's name, before it the site: `weight` (out, in) and `input` (…, in) of a linear, `keys` and `values`
// of an attention, which are rounded; `gain` of a norm and `calibration` (…, in) of a linear, which are seen before.
// Several specs and files follow each other.
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "base/status.h"
#include "core/io/safetensors.h"
#include "core/quant/make_quantization.h"

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

absl::Status Round(const std::string& spec_path, const std::string& in, const std::string& out) {
  std::ifstream file(spec_path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  v1::QuantizationSpec spec;
  if (!google::protobuf::util::JsonStringToMessage(text, &spec).ok())
    return absl::InvalidArgumentError(spec_path + ": no QuantizationSpec as JSON");
  ASSIGN_OR_RETURN(const std::unique_ptr<Quantization> quantization,
                   MakeQuantization(spec, v1::ModelSpec::kGpt2));
  ASSIGN_OR_RETURN(const TensorMap tensors, LoadSafetensors(in));
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
  return SaveSafetensors(out, rounded, {});
}

}  // namespace
}  // namespace inlier

int main(int count, char** arguments) {
  if (count < 4 || count % 3 != 1) {
    std::fprintf(stderr, "round_tensors SPEC.json IN.safetensors OUT.safetensors …\n");
    return 2;
  }
  for (int i = 1; i < count; i += 3) {
    const absl::Status done = inlier::Round(arguments[i], arguments[i + 1], arguments[i + 2]);
    if (done.ok()) continue;
    std::fprintf(stderr, "%s\n", std::string(done.message()).c_str());
    return 1;
  }
}
