// A quantization as a tap that hands each tensor and its rounded form on to a subclass, under the quantizer's name.
#ifndef INLIER_CORE_QUANT_QUANTIZER_TAP_H_
#define INLIER_CORE_QUANT_QUANTIZER_TAP_H_

#include <optional>
#include <string>
#include <utility>

#include "core/quant/quantization.h"

namespace inlier {

// The name of the tensor that a quantizer rounds: the module's path for its output, "<path>.weight", "<path>.input",
// "<path>.keys" and "<path>.values" else.
std::string QuantizedTensor(const std::string& site, QuantizedPart part);

class QuantizerTap : public ActivationTap {
 public:
  // `quantization` must outlive the tap, and be past its Freeze().
  explicit QuantizerTap(Quantization& quantization) : quantization_(quantization) {}

  void OnPass(const at::Tensor& attention_mask) override { quantization_.OnPass(attention_mask); }
  void OnNormOffset(const std::string& site, const at::Tensor& offset) override {
    quantization_.OnNormOffset(site, offset);
  }
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
    return Pass(site, QuantizedPart::kWeight, weight, quantization_.OnWeight(site, weight));
  }
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    return Pass(site, QuantizedPart::kActivation, activation, quantization_.OnActivation(site, activation));
  }
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override {
    return Pass(site, QuantizedPart::kInput, input, quantization_.OnLinearInput(site, input));
  }
  at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override {
    return Pass(site, QuantizedPart::kWeight, weight, quantization_.OnLinearWeight(site, weight));
  }
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override {
    return Pass(site, QuantizedPart::kOutput, output, quantization_.OnLinearOutput(site, output));
  }
  at::Tensor OnKeys(const std::string& site, const at::Tensor& keys) override {
    return Pass(site, QuantizedPart::kKeys, keys, quantization_.OnKeys(site, keys));
  }
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override {
    return Pass(site, QuantizedPart::kValues, values, quantization_.OnValues(site, values));
  }
  CacheWindow WindowOf(std::int64_t tokens) override { return quantization_.WindowOf(tokens); }

 protected:
  // The quantization has replaced the `tensor` of `part` at `site` by `used`; the returned one is used in its place.
  virtual at::Tensor OnReplaced(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                                const at::Tensor& used) = 0;

  Quantization& quantization() { return quantization_; }

 private:
  at::Tensor Pass(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                  const at::Tensor& used) {
    return used.is_same(tensor) ? used : OnReplaced(site, part, tensor, used);  // The same: no quantizer.
  }

  Quantization& quantization_;
};

// The quantization with one quantizer off.
class LeaveOneOut : public QuantizerTap {
 public:
  // `left_out` as QuantizedTensor names it; a name that no quantizer has leaves none out.
  LeaveOneOut(Quantization& quantization, std::string left_out)
      : QuantizerTap(quantization), left_out_(std::move(left_out)) {}

 protected:
  at::Tensor OnReplaced(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                        const at::Tensor& used) override {
    if (QuantizedTensor(site, part) != left_out_) return used;
    const std::optional<Rounding> rounding = quantization().RoundingOf(site, part, tensor, used);
    return rounding ? rounding->unrounded : used;
  }

 private:
  const std::string left_out_;
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_QUANTIZER_TAP_H_
