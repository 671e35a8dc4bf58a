// Attention and feed-forward network with their residual sums and norms.
//
//   pre-LN:   x = x + drop(W_o attention(norm1(x)));  x = x + drop(W_2 f(W_1 norm2(x)))
//   post-LN:  x = norm1(x + drop(W_o attention(x)));  x = norm2(x + drop(W_2 f(W_1 x)))
//   peri-LN:  x = x + drop(norm3(W_o attention(norm1(x))));  x = x + drop(norm4(W_2 f(W_1 norm2(x))))
//   ends:     x = x + drop(W_o attention(x));  x = x + drop(W_2 f(W_1 x)), with norm1 in the first layer alone
//   parallel: x = x + drop(W_o attention(norm1(x))) + drop(W_2 f(W_1 norm2(x)))                         (GPT-NeoX)
//   gated (SwiGLU): f(W_g y) * W_1 y in place of f(W_1 y)
//
// Peri-LN: Ding et al. 2021 (CogView, "Sandwich-LN"); Kim et al. 2025, eq. 3, without its optional norm of the embedding. Its
// norm3 and norm4 are `attention_output_layernorm` and `ffn_output_layernorm` in every architecture. Ends: He et al. 2024
// (2405.19279), the outlier-protected block, with what each half adds multiplied by a gain.
//
// All architectures share the code; LayerStyle has the names of the parts and the shapes that a tap sees.
#ifndef INLIER_CORE_NN_TRANSFORMER_LAYER_H_
#define INLIER_CORE_NN_TRANSFORMER_LAYER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/nn/attention/self_attention.h"
#include "core/nn/forward_context.h"
#include "core/nn/linear.h"
#include "core/nn/norms.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

// Names below the layer's own. Null: the architecture has no such part.
struct LayerStyle {
  AttentionStyle attention;
  const char* attention_scope;
  const char* attention_output;
  const char* attention_norm;
  const char* attention_residual_site;
  const char* ffn_gate = nullptr;  // The linear under the non-linearity of a gated network.
  const char* ffn_input;
  const char* ffn_input_site = nullptr;  // Where its weight is tapped, when not under its own name.
  const char* ffn_activation_site;       // Input of the second linear.
  const char* ffn_output;
  const char* ffn_norm;
  const char* ffn_norm_input_site = nullptr;  // Observation of the norm's input.
  const char* ffn_residual_site;
  WeightLayout weight_layout = WeightLayout::kOutIn;
  bool flat_tokens = false;          // The second half works on (B*T, d), as a tap sees it.
  bool observe_layer_output = true;  // At the layer's own name.
};

extern const LayerStyle kBertLayerStyle;
extern const LayerStyle kOptLayerStyle;
extern const LayerStyle kGpt2LayerStyle;
extern const LayerStyle kLlamaLayerStyle;
extern const LayerStyle kVitLayerStyle;

struct LayerOptions {
  SelfAttentionOptions attention;  // Its `linear` applies to all linears of the layer.
  std::int64_t ffn_size = 0;
  std::optional<bool> ffn_bias = std::nullopt;  // As `attention.linear` where nothing.
  bool gated_ffn = true;                        // False: no LayerStyle::ffn_gate.
  kernels::Activation nonlinearity = kernels::Activation::kGeluErf;
  NormOptions norm;
  bool pre_norm = false;
  bool output_norms = false;   // Peri-LN. REQUIRES: pre_norm.
  bool attention_norm = true;  // False: that half has no norm. REQUIRES: pre_norm, without output_norms.
  bool ffn_norm = true;        // The same.
  double residual_gain = 1;    // Multiplies what a half adds.
  bool parallel = false;       // With pre_norm, without output_norms.
  double dropout = 0;  // After the attention's output projection and after the second feed-forward linear.
};

class TransformerLayer {
 public:
  TransformerLayer(const ParameterScope& scope, const LayerStyle& style, const LayerOptions& options);

  // True when the fused engine has every part there.
  bool can_fuse(layer::Place place) const;

  // x: (B, T, d) -> (B, T, d).
  at::Tensor operator()(const at::Tensor& x, const AttentionFrame& frame,
                        const ForwardContext& context) const;

 private:
  at::Tensor Fused(const at::Tensor& x, const AttentionFrame& frame, const ForwardContext& context) const;
  at::Tensor Attend(const at::Tensor& x, const AttentionFrame& frame, const ForwardContext& context) const;
  at::Tensor FeedForward(const at::Tensor& x, const ForwardContext& context) const;
  at::Tensor FfnNorm(const at::Tensor& x, const ForwardContext& context) const;
  // Dropout, gain, then the residual sum.
  at::Tensor AddTo(const at::Tensor& x, const at::Tensor& update, const ForwardContext& context) const;

  LayerStyle style_;
  LayerOptions options_;
  std::string site_;
  SelfAttention attention_;
  Linear attention_output_;
  Norm attention_norm_;  // Norms without a gain are not there.
  Linear ffn_gate_;      // Without a weight when the network is not gated.
  Linear ffn_input_;
  Linear ffn_output_;
  Norm ffn_norm_;
  Norm attention_output_norm_;  // With output_norms, as the next.
  Norm ffn_output_norm_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_TRANSFORMER_LAYER_H_
