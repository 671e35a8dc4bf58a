#include "core/quant/quantizer_tap.h"

namespace inlier {

std::string QuantizedTensor(const std::string& site, QuantizedPart part) {
  switch (part) {
    case QuantizedPart::kWeight:
      return site + ".weight";
    case QuantizedPart::kInput:
      return site + ".input";
    case QuantizedPart::kKeys:
      return site + ".keys";
    case QuantizedPart::kValues:
      return site + ".values";
    case QuantizedPart::kActivation:
    case QuantizedPart::kOutput:
      return site;
  }
  return site;
}

at::Tensor QuantizerTap::Pass(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                              const at::Tensor& used) {
  return used.is_same(tensor) ? used : OnReplaced(site, part, tensor, used);  // The same: no quantizer.
}

at::Tensor QuantizerTap::OnWeight(const std::string& site, const at::Tensor& weight) {
  return Pass(site, QuantizedPart::kWeight, weight, quantization_.OnWeight(site, weight));
}

at::Tensor QuantizerTap::OnActivation(const std::string& site, const at::Tensor& activation) {
  return Pass(site, QuantizedPart::kActivation, activation, quantization_.OnActivation(site, activation));
}

at::Tensor QuantizerTap::OnLinearInput(const std::string& site, const at::Tensor& input) {
  return Pass(site, QuantizedPart::kInput, input, quantization_.OnLinearInput(site, input));
}

at::Tensor QuantizerTap::OnLinearWeight(const std::string& site, const at::Tensor& weight) {
  return Pass(site, QuantizedPart::kWeight, weight, quantization_.OnLinearWeight(site, weight));
}

at::Tensor QuantizerTap::OnLinearOutput(const std::string& site, const at::Tensor& output) {
  return Pass(site, QuantizedPart::kOutput, output, quantization_.OnLinearOutput(site, output));
}

at::Tensor QuantizerTap::OnKeys(const std::string& site, const at::Tensor& keys) {
  return Pass(site, QuantizedPart::kKeys, keys, quantization_.OnKeys(site, keys));
}

at::Tensor QuantizerTap::OnValues(const std::string& site, const at::Tensor& values) {
  return Pass(site, QuantizedPart::kValues, values, quantization_.OnValues(site, values));
}

}  // namespace inlier
