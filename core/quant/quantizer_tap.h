// A quantization as a tap that hands each tensor and its rounded form on to a subclass, under the name of the
// quantizer.
//
// Thread safety: none.
#ifndef INLIER_CORE_QUANT_QUANTIZER_TAP_H_
#define INLIER_CORE_QUANT_QUANTIZER_TAP_H_

#include <string>
#include <utility>

#include "core/quant/quantization.h"

namespace inlier {

// The name of the tensor that a quantizer rounds: the module's path for its output, "<path>.weight" and
// "<path>.input" else.
std::string QuantizedTensor(const std::string& site, QuantizedPart part);

class QuantizerTap : public ActivationTap {
 public:
  // `quantization` must outlive the tap, and be past its Freeze().
  explicit QuantizerTap(Quantization& quantization) : quantization_(quantization) {}

  void OnPass(const at::Tensor& attention_mask) override { quantization_.OnPass(attention_mask); }
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override;
  at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override;

 protected:
  // A quantizer has rounded `exact`; the returned tensor is used in its place. `tensor` is QuantizedTensor's.
  virtual at::Tensor OnRounded(const std::string& tensor, QuantizedPart part, const at::Tensor& exact,
                               const at::Tensor& rounded) = 0;

 private:
  at::Tensor Pass(const std::string& site, QuantizedPart part, const at::Tensor& exact,
                  const at::Tensor& rounded);

  Quantization& quantization_;
};

// The quantization with one quantizer off.
class LeaveOneOut : public QuantizerTap {
 public:
  // `left_out` as QuantizedTensor names it; a name that no quantizer has leaves none out.
  LeaveOneOut(Quantization& quantization, std::string left_out)
      : QuantizerTap(quantization), left_out_(std::move(left_out)) {}

 protected:
  at::Tensor OnRounded(const std::string& tensor, QuantizedPart, const at::Tensor& exact,
                       const at::Tensor& rounded) override {
    return tensor == left_out_ ? exact : rounded;
  }

 private:
  const std::string left_out_;
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_QUANTIZER_TAP_H_
