// Attention and feed-forward network with their residual sums and norms.
//
//   pre-LN:   x = x + drop(W_o attention(norm1(x)));  x = x + drop(W_2 f(W_1 norm2(x)))
//   post-LN:  x = norm1(x + drop(W_o attention(x)));  x = norm2(x + drop(W_2 f(W_1 x)))
//
// What the parts are called, and in which shape a tap sees them, is said by LayerStyle: BERT and OPT share
// the code.
#ifndef INLIER_CORE_NN_TRANSFORMER_LAYER_H_
#define INLIER_CORE_NN_TRANSFORMER_LAYER_H_

#include <cstdint>
#include <string>

#include "core/nn/forward_context.h"
#include "core/nn/linear.h"
#include "core/nn/norms.h"
#include "core/nn/parameter_scope.h"
#include "core/nn/self_attention.h"

namespace inlier {

// Names below the layer's own.
struct LayerStyle {
  AttentionStyle attention;
  const char* attention_scope;
  const char* attention_output;
  const char* attention_norm;
  const char* attention_residual_site;
  const char* ffn_input;
  const char* ffn_input_site;  // Its weight, and the output of the non-linearity.
  const char* ffn_output;
  const char* ffn_norm;
  const char* ffn_norm_input_site;  // Observation of what the norm reads; null for none.
  const char* ffn_residual_site;
  bool flat_tokens;           // The second half works on (B*T, d), as a tap sees it.
  bool observe_layer_output;  // At the layer's own name.
};

extern const LayerStyle kBertLayerStyle;
extern const LayerStyle kOptLayerStyle;

struct LayerOptions {
  SelfAttentionOptions attention;
  std::int64_t ffn_size = 0;
  Nonlinearity nonlinearity = Nonlinearity::kGeluErf;
  double norm_epsilon = 0;
  bool pre_norm = false;
  double dropout = 0;  // After the attention's output projection and after the second feed-forward linear.
};

class TransformerLayer {
 public:
  TransformerLayer(const ParameterScope& scope, const LayerStyle& style, const LayerOptions& options);

  // x: (B, T, d) -> (B, T, d).
  at::Tensor operator()(const at::Tensor& x, const AttentionMask& mask, const ForwardContext& context) const;

 private:
  // Dropout, then the residual sum.
  at::Tensor AddTo(const at::Tensor& x, const at::Tensor& update, const ForwardContext& context) const;

  LayerStyle style_;
  LayerOptions options_;
  std::string site_;
  SelfAttention attention_;
  Linear attention_output_;
  LayerNorm attention_norm_;
  Linear ffn_input_;
  Linear ffn_output_;
  LayerNorm ffn_norm_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_TRANSFORMER_LAYER_H_
