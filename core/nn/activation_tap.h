// Hooks for observing or replacing the tensors inside a model.
//
// Models hand every weight and activation that the reference code quantizes or measures to the tap of the
// forward call, in the order of execution, under a site name: the path of the reference module (for example
// "bert.encoder.layer.0.attention.self.query"). Quantization is a tap that returns rounded tensors; the
// outlier metrics are a tap that records; several are chained by TapChain.
#ifndef INLIER_CORE_NN_ACTIVATION_TAP_H_
#define INLIER_CORE_NN_ACTIVATION_TAP_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace inlier {

class ActivationTap {
 public:
  virtual ~ActivationTap() = default;

  // A forward pass begins. attention_mask: (B, T), 1 = a real token, 0 = padding; undefined: there is no padding. Nothing
  // is passed to the tap before.
  virtual void OnPass(const at::Tensor& attention_mask) {}

  // `weight` is about to be used at `site`; the returned tensor is used in its place (same shape).
  virtual at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) { return weight; }

  // `activation` has been computed at `site`; the returned tensor is used in its place (same shape).
  virtual at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) {
    return activation;
  }

  // `input` is about to be multiplied by the weight of the linear at `site`; the returned tensor is used in
  // its place.
  virtual at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) { return input; }
  // As OnWeight, for the weight of a linear, always as (out, in).
  virtual at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) {
    return OnWeight(site, weight);
  }
  // `output` is the result of the linear at `site`, bias added, before any non-linearity.
  virtual at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) { return output; }

  // Keys and values as a cache would keep them, (B, T, kv_heads, h): each once, before it serves several heads and before
  // AttentionSpec.key_value_bias is put behind them; keys normed and rotated, both after their gate. `site`: the attention's
  // own, such as "model.layers.0.self_attn". The returned tensor is used in its place.
  virtual at::Tensor OnKeys(const std::string& site, const at::Tensor& keys) { return keys; }
  virtual at::Tensor OnValues(const std::string& site, const at::Tensor& values) { return values; }
};

// Passes each tensor through all `taps` in order (quantize first, then record).
class TapChain : public ActivationTap {
 public:
  explicit TapChain(std::vector<ActivationTap*> taps) : taps_(std::move(taps)) {}

  void OnPass(const at::Tensor& attention_mask) override {
    for (ActivationTap* tap : taps_) tap->OnPass(attention_mask);
  }
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
    at::Tensor result = weight;
    for (ActivationTap* tap : taps_) result = tap->OnWeight(site, result);
    return result;
  }
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    at::Tensor result = activation;
    for (ActivationTap* tap : taps_) result = tap->OnActivation(site, result);
    return result;
  }
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override {
    at::Tensor result = input;
    for (ActivationTap* tap : taps_) result = tap->OnLinearInput(site, result);
    return result;
  }
  at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override {
    at::Tensor result = weight;
    for (ActivationTap* tap : taps_) result = tap->OnLinearWeight(site, result);
    return result;
  }
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override {
    at::Tensor result = output;
    for (ActivationTap* tap : taps_) result = tap->OnLinearOutput(site, result);
    return result;
  }
  at::Tensor OnKeys(const std::string& site, const at::Tensor& keys) override {
    at::Tensor result = keys;
    for (ActivationTap* tap : taps_) result = tap->OnKeys(site, result);
    return result;
  }
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override {
    at::Tensor result = values;
    for (ActivationTap* tap : taps_) result = tap->OnValues(site, result);
    return result;
  }

 private:
  std::vector<ActivationTap*> taps_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ACTIVATION_TAP_H_
