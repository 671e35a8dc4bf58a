#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "core/layer_cuda/launch.h"
#include "core/layer_cuda/layer_parts.h"

namespace inlier::layer::gpu {
namespace {

struct Backward : Pass {
  Backward(const Call& call, const at::Tensor& y_gradient)
      : Pass(call), saved(call.saved), y_gradient(y_gradient) {}

  const Saved& saved;
  const at::Tensor& y_gradient;  // Contiguous.
  const cudaStream_t stream = StreamOf(y_gradient);

  Gradients result = {};
  at::Tensor residual;  // (M, d), the gradient of the residual stream so far: result.x.
  // Gradients of the linears' results, of the context, and of query, key and value.
  at::Tensor output_result, gate_result, input_result, ffn_result, context, qkv;
  at::Tensor workspace;  // Of one launch at a time.

  void Allocate() {
    result.x = Empty<float>({shape.batch, shape.tokens, d});
    residual = result.x.view({m, d});
    workspace = Empty<float>({std::max({cuda::ResidualNormWorkspace(d), cuda::ActivationWorkspace(f),
                                        cuda::ColumnSumsWorkspace(qkv_width)})});
    PlaceVectors(weights, at::zeros({VectorsWidth(weights)}, y_gradient.options()), result.weights);
  }

  // `residual` becomes the gradient of what the norm reads (`sum`), and `update` (may be undefined) that of what dropout
  // read. dy: of the norm's result; without one there is no norm. above: of the sum by its other uses.
  void SumBackward(const at::Tensor& dy, const at::Tensor& above, const Norm& norm, const at::Tensor& sum,
                   const at::Tensor& mean, const at::Tensor& inverse, const kernels::Dropout& dropout,
                   const at::Tensor& update, const at::Tensor& bias_gradient, const Norm& norm_gradients) {
    const cuda::ResidualNorm<Bf16> call = {
        .rows = m, .width = d, .norm = NormOf<float>(shape, norm), .dropout = dropout};
    const cuda::ResidualNormGradients<Bf16> gradients = {.dy = Data<float>(dy),
                                                         .sum_gradient = Data<float>(above),
                                                         .residual = Data<float>(residual),
                                                         .update = Data<Bf16>(update),
                                                         .gain = Data<float>(norm_gradients.gain),
                                                         .offset = Data<float>(norm_gradients.offset),
                                                         .bias = Data<float>(bias_gradient)};
    Check(cuda::ResidualNormBackward<Bf16>(call, Data<float>(sum), Data<float>(mean), Data<float>(inverse),
                                           gradients, Data<float>(workspace), stream),
          "ResidualNormBackward");
  }

  void ActivationBackward() {
    const bool gated = weights.ffn_gate.weight.defined();
    const at::Tensor df = Product(ffn_result, BackwardSide(shape, saved.operands.ffn_output));
    input_result = df;  // Overwritten where it was read.
    if (gated) gate_result = Empty<Bf16>({m, f});
    Bf16* const gradient = Data<Bf16>(df);
    const Bf16* const hidden = Data<Bf16>(saved.hidden);
    const cuda::ActivationRows<Bf16> call = {.activation = shape.activation, .rows = m, .width = f};
    float* const input_bias = Data<float>(result.weights.ffn_input.bias);
    Check(cuda::ActivationBackward<Bf16>(
              call, gated ? Data<Bf16>(saved.gate_hidden) : hidden, gated ? hidden : nullptr, gradient,
              gated ? Data<Bf16>(gate_result) : gradient, gated ? gradient : nullptr,
              gated ? Data<float>(result.weights.ffn_gate.bias) : input_bias, gated ? input_bias : nullptr,
              Data<float>(workspace), stream),
          "ActivationBackward");
  }

  void FeedForward() {
    const Weights& operands = saved.operands;
    ffn_result = Empty<Bf16>({m, d});
    if (shape.pre_norm) {
      SumBackward({}, y_gradient, {}, {}, {}, {}, shape.ffn_dropout, ffn_result,
                  result.weights.ffn_output.bias, {});
    } else {
      SumBackward(y_gradient, {}, weights.ffn_norm, saved.ffn_sum, saved.ffn_norm_mean,
                  saved.ffn_norm_inverse, shape.ffn_dropout, ffn_result, result.weights.ffn_output.bias,
                  result.weights.ffn_norm);
    }
    ActivationBackward();
    const at::Tensor target = shape.pre_norm ? Empty<float>({m, d}) : residual;
    if (shape.pre_norm) {
      WideProductTo(target, input_result, BackwardSide(shape, operands.ffn_input));
    } else {
      AddProduct(target, input_result, BackwardSide(shape, operands.ffn_input));
    }
    if (gate_result.defined()) AddProduct(target, gate_result, BackwardSide(shape, operands.ffn_gate));
    output_result = Empty<Bf16>({m, d});
    if (shape.pre_norm) {
      SumBackward(target, residual, weights.ffn_norm, saved.attention_sum, saved.ffn_norm_mean,
                  saved.ffn_norm_inverse, shape.attention_dropout, output_result, result.weights.output.bias,
                  result.weights.ffn_norm);
    } else {
      SumBackward(target, {}, weights.attention_norm, saved.attention_sum, saved.attention_norm_mean,
                  saved.attention_norm_inverse, shape.attention_dropout, output_result,
                  result.weights.output.bias, result.weights.attention_norm);
    }
    context = Product(output_result, BackwardSide(shape, operands.output));
  }

  void GateBackward() {
    const at::Tensor gradient = ByHead(shape, context);
    result.gate =
        (gradient.to(at::kFloat) * ByHead(shape, saved.ungated)).sum(3).transpose(1, 2).contiguous();
    at::Tensor ungated = at::empty_like(gradient);
    at::mul_out(ungated, gradient, GateFactors(inputs));
    context = ungated.view({m, d});
  }

  void Attend() {
    if (inputs.gate.defined()) GateBackward();
    qkv = Empty<Bf16>({m, qkv_width});
    const at::Tensor row_sums = Empty<float>({shape.batch, shape.heads, shape.tokens});
    const at::Tensor null_scores = NullScores(shape, weights, inputs.x);
    const QkvHeads<const Bf16> heads(shape, saved.qkv);
    const QkvHeads<Bf16> gradient_heads(shape, qkv);
    const cuda::AttentionGradients gradients = {.o = HeadsOf<const Bf16>(shape, context, 0),
                                                .q = gradient_heads.q,
                                                .k = gradient_heads.k,
                                                .v = gradient_heads.v,
                                                .null_score = Data<float>(result.weights.sinks),
                                                .row_sums = Data<float>(row_sums)};
    Check(cuda::AttentionBackward(AttentionOf(shape, inputs, null_scores), heads.q, heads.k, heads.v,
                                  Data<float>(saved.softmax_statistics), gradients, stream),
          "AttentionBackward");
    Rotate(shape, inputs, /*inverse=*/true, qkv);
  }

  void Project() {
    const at::Tensor& bias = result.weights.projections[0].bias;  // The other biases follow it.
    if (bias.defined()) {
      Check(cuda::AddColumnSums<Bf16>(m, qkv_width, Data<Bf16>(qkv), Data<float>(bias),
                                      Data<float>(workspace), stream),
            "AddColumnSums");
    }
    const at::Tensor side = BackwardSide(shape, saved.operands.projections[0]);
    if (inputs.attention_input.defined()) {
      result.attention_input = WideProduct(qkv, side).view(result.x.sizes());
    } else if (shape.pre_norm) {
      SumBackward(WideProduct(qkv, side), residual, weights.attention_norm, inputs.x,
                  saved.attention_norm_mean, saved.attention_norm_inverse, {}, {}, {},
                  result.weights.attention_norm);
    } else {
      AddProduct(residual, qkv, side);
    }
  }

  at::Tensor WeightGradient(const at::Tensor& result_gradient, const at::Tensor& operand) const {
    return shape.in_out ? WideProduct(operand.t(), result_gradient)
                        : WideProduct(result_gradient.t(), operand);
  }

  void WeightGradients() {
    Weights& out = result.weights;
    out.ffn_output.weight = WeightGradient(ffn_result, saved.activated);
    out.ffn_input.weight = WeightGradient(input_result, saved.ffn_operand);
    if (gate_result.defined()) out.ffn_gate.weight = WeightGradient(gate_result, saved.ffn_operand);
    out.output.weight = WeightGradient(output_result, saved.context);
    const at::Tensor joined = WeightGradient(qkv, saved.projected);
    const std::vector<std::int64_t> widths = ProjectionWidths(shape, weights);
    std::int64_t column = 0;
    for (std::size_t i = 0; i < widths.size(); column += widths[i++])
      out.projections[i].weight = joined.narrow(shape.in_out ? 1 : 0, column, widths[i]).contiguous();
  }
};

}  // namespace

Gradients LayerBackward(const Call& call, const at::Tensor& y_gradient) {
  const at::Tensor gradient = y_gradient.contiguous();
  Backward backward(call, gradient);
  backward.Allocate();
  backward.FeedForward();
  backward.Attend();
  backward.Project();
  backward.WeightGradients();
  return std::move(backward.result);
}

}  // namespace inlier::layer::gpu
