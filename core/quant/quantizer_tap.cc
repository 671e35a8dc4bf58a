#include "core/quant/quantizer_tap.h"

namespace inlier {

std::string QuantizedTensor(const std::string& site, QuantizedPart part) {
  switch (part) {
    case QuantizedPart::kWeight:
      return site + ".weight";
    case QuantizedPart::kInput:
      return site + ".input";
    case QuantizedPart::kActivation:
    case QuantizedPart::kOutput:
      return site;
  }
  return site;
}

at::Tensor QuantizerTap::Pass(const std::string& site, QuantizedPart part, const at::Tensor& exact,
                              const at::Tensor& rounded) {
  if (rounded.is_same(exact)) return rounded;  // No quantizer.
  return OnRounded(QuantizedTensor(site, part), part, exact, rounded);
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

}  // namespace inlier
