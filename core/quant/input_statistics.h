// Statistics of calibration batches at the inputs of a model's linears: the largest magnitude of each feature, and moments.
// Linears that read the same tensor share both; it is counted once. On a GPU moments of a batch with padding wait for the
// device.
#ifndef INLIER_CORE_QUANT_INPUT_STATISTICS_H_
#define INLIER_CORE_QUANT_INPUT_STATISTICS_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "core/nn/token_mask.h"
#include "core/quant/gptq.h"

namespace inlier {

class InputStatistics {
 public:
  InputStatistics(bool maxima, bool moments) : counts_maxima_(maxima), counts_moments_(moments) {}

  // A pass begins; attention_mask as ActivationTap::OnPass has it.
  void OnPass(const at::Tensor& attention_mask);
  // The linear at `site` reads `input`, (B, T, in) or (B * T, in), which is called `reads`.
  void SeeInput(const std::string& reads, const std::string& site, const at::Tensor& input);
  void SeeWeight(const std::string& reads, const std::string& site, const at::Tensor& weight);

  struct Input {
    std::string first_site;  // Of the linears that read it.
    at::Tensor maxima;       // (in): the largest magnitude of each feature; undefined when not counted.
    InputMoments moments;
    std::map<std::string, at::Tensor> weights;  // (out, in) of each linear that reads it, by site.
  };
  using InputMap = std::map<std::string, Input>;  // By `reads`.

  const InputMap& inputs() const { return inputs_; }
  // REQUIRES: a batch has reached it.
  const Input& At(const std::string& reads) const;
  void Clear() { inputs_.clear(); }

 private:
  const bool counts_maxima_;
  const bool counts_moments_;
  at::Tensor attention_mask_;  // Of this pass.
  TokenMask token_mask_;       // The same.
  InputMap inputs_;
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_INPUT_STATISTICS_H_
