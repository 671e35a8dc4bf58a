// Hooks for observing or replacing the tensors inside a model.
//
// Models hand every weight and activation that the reference code quantizes or measures to the tap of the
// forward call, in the order of execution, under a site name: the path of the reference module (for example
// "bert.encoder.layer.0.attention.self.query"). Quantization is a tap that returns rounded tensors; the
// outlier metrics are a tap that records; several are chained by TapChain.
#ifndef INLIER_CORE_NN_ACTIVATION_TAP_H_
#define INLIER_CORE_NN_ACTIVATION_TAP_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace inlier {

// Which keys and values of a cache a query sees as they were before OnKeys and OnValues: (T, T), true where query t sees
// those of token j so. Undefined: none.
struct CacheWindow {
  at::Tensor keys;
  at::Tensor values;
};

class ActivationTap {
 public:
  virtual ~ActivationTap() = default;

  // A forward pass begins. attention_mask: (B, T), 1 = a real token, 0 = padding; undefined: there is no padding. Nothing
  // is passed to the tap before.
  virtual void OnPass(const at::Tensor& attention_mask) {}

  // The norm at `site` is about to add `offset`, (d); before its OnWeight.
  virtual void OnNormOffset(const std::string& site, const at::Tensor& offset) {}

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
  // The keys, (B or 1, 1, T, T) bool, that queries of the attention whose probabilities come next do not see, padding apart; not
  // called where these are the later ones alone, or none.
  virtual void OnUnseenKeys(const at::Tensor& unseen) {}
  // Of attentions over `tokens` tokens.
  virtual CacheWindow WindowOf(std::int64_t tokens) { return {}; }
};

// Passes each tensor through all `taps` in order (quantize first, then record).
class TapChain : public ActivationTap {
 public:
  explicit TapChain(std::vector<ActivationTap*> taps) : taps_(std::move(taps)) {}

  void OnPass(const at::Tensor& attention_mask) override {
    for (ActivationTap* tap : taps_) tap->OnPass(attention_mask);
  }
  void OnNormOffset(const std::string& site, const at::Tensor& offset) override {
    for (ActivationTap* tap : taps_) tap->OnNormOffset(site, offset);
  }
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
    return Through(&ActivationTap::OnWeight, site, weight);
  }
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    return Through(&ActivationTap::OnActivation, site, activation);
  }
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override {
    return Through(&ActivationTap::OnLinearInput, site, input);
  }
  at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override {
    return Through(&ActivationTap::OnLinearWeight, site, weight);
  }
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override {
    return Through(&ActivationTap::OnLinearOutput, site, output);
  }
  at::Tensor OnKeys(const std::string& site, const at::Tensor& keys) override {
    return Through(&ActivationTap::OnKeys, site, keys);
  }
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override {
    return Through(&ActivationTap::OnValues, site, values);
  }
  void OnUnseenKeys(const at::Tensor& unseen) override {
    for (ActivationTap* tap : taps_) tap->OnUnseenKeys(unseen);
  }
  // The first tap's that has one.
  CacheWindow WindowOf(std::int64_t tokens) override {
    for (ActivationTap* tap : taps_) {
      if (const CacheWindow window = tap->WindowOf(tokens); window.keys.defined()) return window;
    }
    return {};
  }

 private:
  using Hook = at::Tensor (ActivationTap::*)(const std::string& site, const at::Tensor& tensor);

  at::Tensor Through(Hook hook, const std::string& site, const at::Tensor& tensor) {
    at::Tensor result = tensor;
    for (ActivationTap* tap : taps_) result = (tap->*hook)(site, result);
    return result;
  }

  std::vector<ActivationTap*> taps_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ACTIVATION_TAP_H_
