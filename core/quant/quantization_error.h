// The error of each quantizer over an evaluation, as a tap in the place of the quantization.
//
// Of all elements x that a quantizer rounds to q(x), sums and differences in double:
//   SQNR          10 log10(sum x^2 / sum (x - q(x))^2), in dB: the signal-to-quantization-noise ratio
//   crest factor  max |x| / s, with s^2 = mean x^2 - (mean x)^2
// A weight counts once. x is the tensor in the quantized model: what quantizers before it have done is in it. It is the
// one that is rounded: smoothed or rotated where the quantization does so first. Padding counts nowhere, of attention
// scores and weights neither as query nor as key (docs/decisions/0024-padding.md).
//
// On a GPU no call before Report() waits for the device; there differences are taken in the
// tensor's own precision.
#ifndef INLIER_CORE_QUANT_QUANTIZATION_ERROR_H_
#define INLIER_CORE_QUANT_QUANTIZATION_ERROR_H_

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/nn/token_mask.h"
#include "core/quant/quantizer_tap.h"

namespace inlier {

struct QuantizerError {
  std::string tensor;  // QuantizedTensor's.
  // Absent where nothing is lost (every x is on the grid), NaN where x or q(x) has NaN or infinity.
  std::optional<double> sqnr_db;
  std::optional<double> crest_factor;  // Absent where all x are equal.
};

class QuantizationErrorRecorder : public QuantizerTap {
 public:
  // `count_padding`: measure padding as if it were text.
  explicit QuantizationErrorRecorder(Quantization& quantization, bool count_padding = false)
      : QuantizerTap(quantization), count_padding_(count_padding) {}

  void OnPass(const at::Tensor& attention_mask) override;

  // Every quantizer that has rounded a tensor, in order of first use.
  std::vector<QuantizerError> Report() const;

 protected:
  at::Tensor OnReplaced(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                        const at::Tensor& used) override;

 private:
  void Add(const std::string& tensor, QuantizedPart part, const at::Tensor& exact, const at::Tensor& rounded);

  struct Sums {
    std::string tensor;
    at::Tensor sums;     // (4): of 1, x, x^2 and (x - q(x))^2; double, on the tensor's device.
    at::Tensor largest;  // (): max |x|; double.
  };

  const bool count_padding_;
  TokenMask mask_;  // Of this pass.
  std::vector<Sums> sums_;
  std::unordered_map<std::string, std::size_t> index_;  // By tensor.
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_QUANTIZATION_ERROR_H_
