#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mul.h>

#include "core/layer_cuda/launch.h"
#include "core/layer_cuda/layer_parts.h"

namespace inlier::layer::gpu {
namespace {

struct Forward : Pass {
  explicit Forward(Call& call) : Pass(call), saved(call.saved) {}

  Saved& saved;
  const cudaStream_t stream = StreamOf(inputs.x);

  // The linears' weights as bfloat16; query, key and value in one.
  void Round() {
    std::vector<at::Tensor> from, to;
    const auto round = [&](const Linear& linear) {
      if (!linear.weight.defined()) return Linear();
      from.push_back(linear.weight);
      to.push_back(Empty<Bf16>(linear.weight.sizes()));
      return Linear{to.back(), {}};
    };
    saved.operands = {.output = round(weights.output),
                      .ffn_gate = round(weights.ffn_gate),
                      .ffn_input = round(weights.ffn_input),
                      .ffn_output = round(weights.ffn_output)};
    at::Tensor joined =
        Empty<Bf16>(shape.in_out ? at::IntArrayRef({d, qkv_width}) : at::IntArrayRef({qkv_width, d}));
    std::int64_t column = 0;
    for (const Linear& linear : weights.projections) {
      const std::int64_t columns = linear.weight.size(shape.in_out ? 1 : 0);
      from.push_back(linear.weight);
      to.push_back(joined.narrow(shape.in_out ? 1 : 0, column, columns));
      column += columns;
    }
    saved.operands.projections = {{joined, {}}};
    at::_foreach_copy_(to, from);
  }

  // sum = residual + dropout(update + bias), then its norm; see cuda::ResidualNormForward. An undefined update or norm
  // is none.
  void AddAndNorm(const at::Tensor& residual, const at::Tensor& update, const at::Tensor& bias,
                  const kernels::Dropout& dropout, const Norm& norm, const at::Tensor& sum,
                  const at::Tensor& y, const at::Tensor& operand, at::Tensor* mean, at::Tensor* inverse) {
    if (norm.gain.defined()) {
      *mean = Empty<float>({m});
      *inverse = Empty<float>({m});
    }
    const cuda::ResidualNorm<Bf16> call = {.rows = m,
                                           .width = d,
                                           .norm = NormOf<float>(shape, norm),
                                           .update = Data<Bf16>(update),
                                           .bias = Data<float>(bias),
                                           .dropout = dropout};
    Check(cuda::ResidualNormForward<Bf16>(call, Data<float>(residual), Data<float>(sum), Data<float>(y),
                                          Data<Bf16>(operand),
                                          norm.gain.defined() ? Data<float>(*mean) : nullptr,
                                          norm.gain.defined() ? Data<float>(*inverse) : nullptr, stream),
          "ResidualNormForward");
  }

  void Project() {
    if (inputs.attention_input.defined() || !shape.pre_norm) {
      const at::Tensor& source = inputs.attention_input.defined() ? inputs.attention_input : inputs.x;
      saved.projected = source.view({m, d}).to(at::kBFloat16);
    } else {
      saved.projected = Empty<Bf16>({m, d});
      AddAndNorm(inputs.x, {}, {}, {}, weights.attention_norm, {}, {}, saved.projected,
                 &saved.attention_norm_mean, &saved.attention_norm_inverse);
    }
    const at::Tensor side = ForwardSide(shape, saved.operands.projections[0]);
    const at::Tensor bias = JoinedBias(weights);
    saved.qkv = bias.defined() ? at::addmm(bias.to(at::kBFloat16), saved.projected, side)
                               : Product(saved.projected, side);
    Rotate(shape, inputs, /*inverse=*/false, saved.qkv);
  }

  void Attend() {
    const bool gated = inputs.gate.defined();
    saved.softmax_statistics = Empty<float>({shape.batch, shape.heads, shape.tokens, 2});
    saved.context = Empty<Bf16>({m, d});
    if (gated) saved.ungated = Empty<Bf16>({m, d});
    const at::Tensor null_scores = NullScores(shape, weights, inputs.x);
    const QkvHeads<const Bf16> heads(shape, saved.qkv);
    Check(cuda::AttentionForward(AttentionOf(shape, inputs, null_scores), heads.q, heads.k, heads.v,
                                 HeadsOf<Bf16>(shape, gated ? saved.ungated : saved.context, 0),
                                 Data<float>(saved.softmax_statistics), stream),
          "AttentionForward");
    if (!gated) return;
    at::Tensor context = ByHead(shape, saved.context);
    at::mul_out(context, ByHead(shape, saved.ungated), GateFactors(inputs));
  }

  // The non-linearity replaces the products, which nothing reads later, by what its backward pass needs.
  void Activate() {
    const bool gated = weights.ffn_gate.weight.defined();
    const Weights& operands = saved.operands;
    saved.hidden = Product(saved.ffn_operand, ForwardSide(shape, operands.ffn_input));
    if (gated) saved.gate_hidden = Product(saved.ffn_operand, ForwardSide(shape, operands.ffn_gate));
    saved.activated = Empty<Bf16>({m, f});
    Bf16* const hidden = Data<Bf16>(saved.hidden);
    Bf16* const gate = Data<Bf16>(saved.gate_hidden);
    const float* const bias = Data<float>(weights.ffn_input.bias);
    const cuda::ActivationRows<Bf16> call = {
        .activation = shape.activation,
        .rows = m,
        .width = f,
        .product = gated ? gate : hidden,
        .bias = gated ? Data<float>(weights.ffn_gate.bias) : bias,
        .input_product = gated ? hidden : nullptr,
        .input_bias = gated ? bias : nullptr,
    };
    Check(cuda::ActivationForward<Bf16>(call, gated ? gate : hidden, gated ? hidden : nullptr,
                                        Data<Bf16>(saved.activated), stream),
          "ActivationForward");
  }

  at::Tensor FeedForward() {
    at::Tensor y = Empty<float>({shape.batch, shape.tokens, d}), normed;
    saved.attention_sum = Empty<float>({m, d});
    saved.ffn_operand = Empty<Bf16>({m, d});
    if (!shape.pre_norm) normed = Empty<float>({m, d});
    const at::Tensor update = Product(saved.context, ForwardSide(shape, saved.operands.output));
    AddAndNorm(inputs.x, update, weights.output.bias, shape.attention_dropout,
               shape.pre_norm ? weights.ffn_norm : weights.attention_norm, saved.attention_sum, normed,
               saved.ffn_operand, shape.pre_norm ? &saved.ffn_norm_mean : &saved.attention_norm_mean,
               shape.pre_norm ? &saved.ffn_norm_inverse : &saved.attention_norm_inverse);
    Activate();
    const at::Tensor last = Product(saved.activated, ForwardSide(shape, saved.operands.ffn_output));
    if (shape.pre_norm) {
      AddAndNorm(saved.attention_sum, last, weights.ffn_output.bias, shape.ffn_dropout, {}, y, {}, {},
                 nullptr, nullptr);
    } else {
      saved.ffn_sum = Empty<float>({m, d});
      AddAndNorm(normed, last, weights.ffn_output.bias, shape.ffn_dropout, weights.ffn_norm, saved.ffn_sum, y,
                 {}, &saved.ffn_norm_mean, &saved.ffn_norm_inverse);
    }
    return y;
  }
};

}  // namespace

bool CanFuse(std::int64_t width, std::int64_t heads, std::int64_t kv_heads) {
  const cuda::AttentionShape one = {.batch = 1,
                                    .heads = heads,
                                    .kv_heads = kv_heads,
                                    .tokens = 1,
                                    .head_size = heads > 0 && width % heads == 0 ? width / heads : 0,
                                    .visible_keys = 1,
                                    .dropout = {}};
  return width <= cuda::kWidthMax && cuda::CanAttend(one);
}

Result LayerForward(Call& call) {
  const Shape& shape = call.shape;
  TORCH_CHECK(CanFuse(shape.width, shape.heads, shape.kv_heads), "a layer of width ", shape.width, " with ",
              shape.heads, " heads has no kernels for a GPU");
  TORCH_CHECK(!shape.ffn_penalty, "a layer on a GPU has no penalty on its feed-forward network");
  Forward forward(call);
  forward.Round();
  forward.Project();
  forward.Attend();
  return {forward.FeedForward(), {}};
}

}  // namespace inlier::layer::gpu
