#include <ATen/ops/zeros.h>

#include <cstring>

#include "core/kernels/heads.h"
#include "core/layer_cpu/head_parts.h"
#include "core/layer_cpu/layer.h"
#include "core/layer_cpu/layer_parts.h"
#include "core/layer_cpu/matmul.h"
#include "core/layer_cpu/profile.h"

namespace inlier::layer::cpu {
namespace {

template <typename T>
struct Backward : Pass {
  using R = Real<T>;

  Backward(const Call& call, const at::Tensor& y_gradient, double ffn_penalty_gradient)
      : Pass(call), saved(call.saved), y_gradient(y_gradient), ffn_penalty_gradient(ffn_penalty_gradient) {}

  const Saved& saved;
  const at::Tensor& y_gradient;  // Contiguous.
  const double ffn_penalty_gradient;
  const TokenBlocks blocks = BlocksOf(shape);
  const LayerGates gates{shape, inputs};

  Gradients result = {};
  // Gradients of the linears' results, of the context, and of query, key and value.
  at::Tensor output_result, gate_result, input_result, ffn_result, context, qkv;

  at::Tensor vectors;  // (blocks, VectorsWidth)
  Weights parts;       // The vectors' places there.
  at::Tensor sinks;    // (B, H), of each sequence.

  void Allocate() {
    result.x = Empty<R>({shape.batch, shape.tokens, d});
    if (inputs.attention_input.defined()) result.attention_input = Empty<R>({shape.batch, shape.tokens, d});
    if (inputs.gate.defined()) result.gate = at::zeros(inputs.gate.sizes(), inputs.gate.options());
    output_result = Empty<T>({m, d});
    ffn_result = Empty<T>({m, d});
    input_result = Empty<T>({m, f});
    if (weights.ffn_gate.weight.defined()) gate_result = Empty<T>({m, f});
    context = Empty<T>({m, d});
    qkv = Empty<T>({m, qkv_width});
    vectors = at::zeros({blocks.count, VectorsWidth(weights)}, inputs.x.options());
    PlaceVectors(weights, vectors, parts);
  }

  // The penalty's addition to the gradient of the network's result for some tokens, in `memory`; null for nothing.
  const R* PenaltyGradient(std::int64_t first, std::int64_t rows, R* memory) const {
    if (ffn_penalty_gradient == 0) return nullptr;
    const double share = ffn_penalty_gradient / static_cast<double>(m * d);
    kernels::PowerGradient<R>(*shape.ffn_penalty, rows, d, Data<R>(saved.ffn_output) + first * d,
                              static_cast<R>(share), memory);
    return memory;
  }

  // The gradient of some tokens' output projection, from that of the residual sum; `memory` is of (rows, d).
  void OutputBackward(std::int64_t block, const R* sum_gradient, R* memory, T* out) {
    const std::int64_t first = blocks.First(block), rows = blocks.Rows(block);
    const std::uint64_t row = static_cast<std::uint64_t>(first);
    R* const bias = PartOf<R>(parts.output.bias, block);
    if (!gates.output.defined()) {
      kernels::AddDroppedBackward<T>(rows, d, sum_gradient, shape.attention_dropout, row, out, bias);
      return;
    }
    kernels::AddDroppedBackward<R>(rows, d, sum_gradient, shape.attention_dropout, row, memory, nullptr);
    PartGate<R>(shape, gates.output)
        .Backward(first, rows, Data<R>(gates.output), Data<R>(saved.plain_output) + first * d, memory, d,
                  Data<R>(result.gate));
    if (bias != nullptr) kernels::AddColumnSums<R>(rows, d, memory, bias);
    kernels::AddBias<T>(rows, d, memory, nullptr, out);
  }

  // result.x is the gradient of the residual stream so far.
  void FeedForward() {
    INLIER_PROFILE("output and feed-forward");
    const at::Tensor output = PackBackward<T>(shape, weights.output);
    const at::Tensor gate = PackBackward<T>(shape, weights.ffn_gate);
    const at::Tensor input = PackBackward<T>(shape, weights.ffn_input);
    const at::Tensor last = PackBackward<T>(shape, weights.ffn_output);
    const auto attention_norm = NormOf<R>(shape, weights.attention_norm);
    const auto ffn_norm = NormOf<R>(shape, weights.ffn_norm);
    const std::size_t narrow = ScratchCutter::BytesOf<R>(blocks.size * d);
    const std::size_t wide = ScratchCutter::BytesOf<R>(blocks.size * f);
    ParallelFor(blocks.count, [&](std::int64_t block) {
      const std::int64_t first = blocks.First(block), rows = blocks.Rows(block);
      ScratchCutter cutter(Scratch(ScratchSlot::kLayer, narrow + wide));
      R* const part = cutter.Take<R>(blocks.size * d);
      R* const hidden = cutter.Take<R>(blocks.size * f);
      const auto at_d = [&](const at::Tensor& tensor) { return Data<R>(tensor) + first * d; };
      const auto at_row = [&](const at::Tensor& tensor) { return Data<R>(tensor) + first; };
      const std::uint64_t row = static_cast<std::uint64_t>(first);
      R* const residual = at_d(result.x);

      if (shape.pre_norm) {
        std::memcpy(residual, at_d(y_gradient), sizeof(R) * static_cast<std::size_t>(rows * d));
      } else {
        kernels::NormBackward<R>(ffn_norm, rows, d, at_d(saved.ffn_sum), at_row(saved.ffn_norm_mean),
                                 at_row(saved.ffn_norm_inverse), at_d(y_gradient), residual,
                                 PartOf<R>(parts.ffn_norm.gain, block),
                                 PartOf<R>(parts.ffn_norm.offset, block));
      }
      T* const ffn = Data<T>(ffn_result) + first * d;
      kernels::AddDroppedBackward<T>(rows, d, residual, shape.ffn_dropout, row, ffn,
                                     PartOf<R>(parts.ffn_output.bias, block),
                                     PenaltyGradient(first, rows, part));
      Multiply<T>(rows, f, d, ffn, d, Data<T>(last), hidden, f, /*add=*/false);
      T* const inner = Data<T>(input_result) + first * f;
      R* const target = shape.pre_norm ? part : residual;
      if (gate.defined()) {
        T* const gated = Data<T>(gate_result) + first * f;
        kernels::GatedBackward<T>(shape.activation, rows, f, Data<T>(saved.gate_hidden) + first * f,
                                  Data<T>(saved.hidden) + first * f, hidden, gated, inner,
                                  PartOf<R>(parts.ffn_gate.bias, block),
                                  PartOf<R>(parts.ffn_input.bias, block));
        Multiply<T>(rows, d, f, gated, f, Data<T>(gate), target, d, /*add=*/!shape.pre_norm);
        Multiply<T>(rows, d, f, inner, f, Data<T>(input), target, d, /*add=*/true);
      } else {
        kernels::ActivationBackward<T>(shape.activation, rows, f, Data<T>(saved.hidden) + first * f, hidden,
                                       inner, PartOf<R>(parts.ffn_input.bias, block));
        Multiply<T>(rows, d, f, inner, f, Data<T>(input), target, d, /*add=*/!shape.pre_norm);
      }
      if (shape.pre_norm) {
        kernels::NormBackward<R>(ffn_norm, rows, d, at_d(saved.attention_sum), at_row(saved.ffn_norm_mean),
                                 at_row(saved.ffn_norm_inverse), part, part,
                                 PartOf<R>(parts.ffn_norm.gain, block),
                                 PartOf<R>(parts.ffn_norm.offset, block));
        kernels::AddDropped<R>(rows, d, residual, part, nullptr, kernels::Dropout(), 0, residual);
      } else {
        kernels::NormBackward<R>(attention_norm, rows, d, at_d(saved.attention_sum),
                                 at_row(saved.attention_norm_mean), at_row(saved.attention_norm_inverse),
                                 residual, residual, PartOf<R>(parts.attention_norm.gain, block),
                                 PartOf<R>(parts.attention_norm.offset, block));
      }
      T* const out = Data<T>(output_result) + first * d;
      OutputBackward(block, residual, part, out);
      Multiply<T>(rows, d, d, out, d, Data<T>(output), part, d, /*add=*/false);
      kernels::AddBias<T>(rows, d, part, nullptr, Data<T>(context) + first * d);
    });
  }

  void Attend() {
    INLIER_PROFILE("attention");
    const std::int64_t size = shape.attention.head_size, tokens = shape.tokens;
    const std::size_t scratch = static_cast<std::size_t>(AttentionScratch<T>(shape.attention));
    if (weights.sinks.defined()) sinks = at::zeros({shape.batch, shape.heads}, inputs.x.options());
    // Heads that share a key are one item: their gradients of it are summed in order.
    const std::int64_t group = shape.heads / shape.kv_heads;
    const std::size_t shared = group == 1 ? 0 : ScratchCutter::BytesOf<T>(tokens * qkv_width);
    ParallelFor(shape.batch * shape.kv_heads, [&](std::int64_t item) {
      const std::int64_t sequence = item / shape.kv_heads, key_head = item % shape.kv_heads;
      ScratchCutter cutter(Scratch(ScratchSlot::kAttention, shared + scratch));
      T* const further = group == 1 ? nullptr : cutter.Take<T>(tokens * qkv_width);
      std::byte* const inner = cutter.Take<std::byte>(static_cast<std::int64_t>(scratch));
      T* const row = Data<T>(qkv) + sequence * tokens * qkv_width;
      T* const k = row + d + key_head * size;
      T* const v = k + shape.kv_heads * size;
      for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
        const std::int64_t number = sequence * shape.heads + head;
        const std::int64_t place = sequence * tokens * d + head * size;
        T* const gradient = Data<T>(context) + place;
        if (gates.context.defined()) {
          kernels::GateBackward<T>(tokens, size, gradient, GateOf<T>(shape, gates.context, number),
                                   Data<T>(saved.ungated) + place, gradient,
                                   Data<R>(result.gate) + GatePlace(shape, gates.context, number), d);
        }
        const bool first = head == key_head * group;
        const auto part = HeadOf<T>(shape, weights, inputs, Data<T>(saved.qkv), sequence, head);
        AttentionBackward<T>(shape.attention, part, Data<R>(saved.softmax_statistics) + 2 * number * tokens,
                             gradient, d, row + head * size, first ? k : further, first ? v : further + size,
                             qkv_width, sinks.defined() ? Data<R>(sinks) + number : nullptr, inner);
        if (!first) {
          kernels::AddHead<T>(tokens, size, k, further, qkv_width);
          kernels::AddHead<T>(tokens, size, v, further + size, qkv_width);
        }
      }
    });
  }

  // The gradient of some tokens' products with their biases in place of that of their heads, gated and normed.
  void PartsBackward(std::int64_t block, T* gradient, R* heads, R* above) {
    const std::int64_t first = blocks.First(block), rows = blocks.Rows(block);
    const R* const plain = Data<R>(saved.plain_heads) + first * qkv_width;
    for (std::int64_t i = 0; i < rows * qkv_width; ++i) above[i] = kernels::ToReal(gradient[i]);
    if (weights.query_norm.gain.defined()) {
      std::copy_n(plain, rows * qkv_width, heads);
      if (gates.heads.defined())
        PartGate<R>(shape, gates.heads).Apply(first, rows, Data<R>(gates.heads), heads, qkv_width);
      R* const gains[] = {PartOf<R>(parts.query_norm.gain, block), PartOf<R>(parts.key_norm.gain, block)};
      R* const offsets[] = {PartOf<R>(parts.query_norm.offset, block),
                            PartOf<R>(parts.key_norm.offset, block)};
      const std::int64_t at = first * (shape.heads + shape.kv_heads);
      HeadNorms<R>(shape, weights)
          .Backward(rows, qkv_width, heads, Data<R>(saved.head_norm_mean) + at,
                    Data<R>(saved.head_norm_inverse) + at, above, gains, offsets);
    }
    if (gates.heads.defined()) {
      PartGate<R>(shape, gates.heads)
          .Backward(first, rows, Data<R>(gates.heads), plain, above, qkv_width, Data<R>(result.gate));
    }
    kernels::AddBias<T>(rows, qkv_width, above, nullptr, gradient);
  }

  void Project() {
    INLIER_PROFILE("projections");
    const std::vector<std::int64_t> widths = ProjectionWidths(shape, weights);
    std::vector<at::Tensor> packed;
    for (const Linear& linear : weights.projections) packed.push_back(PackBackward<T>(shape, linear));
    const bool own_input = inputs.attention_input.defined();
    const auto norm = NormOf<R>(shape, weights.attention_norm);
    const std::int64_t wide = saved.plain_heads.defined() ? blocks.size * qkv_width : 0;
    ParallelFor(blocks.count, [&](std::int64_t block) {
      const std::int64_t first = blocks.First(block), rows = blocks.Rows(block);
      ScratchCutter cutter(Scratch(ScratchSlot::kLayer, ScratchCutter::BytesOf<R>(blocks.size * d) +
                                                            2 * ScratchCutter::BytesOf<R>(wide)));
      R* const part = cutter.Take<R>(blocks.size * d);
      T* const gradient = Data<T>(qkv) + first * qkv_width;
      if (inputs.cosine.defined()) {
        kernels::RotateHeads<T>(rows, first, shape.tokens, shape.heads + shape.kv_heads,
                                shape.attention.head_size, Data<R>(inputs.cosine), Data<R>(inputs.sine),
                                /*inverse=*/true, gradient, qkv_width);
      }
      if (wide > 0) {
        R* const heads = cutter.Take<R>(wide);
        PartsBackward(block, gradient, heads, cutter.Take<R>(wide));
      }
      R* const residual = Data<R>(result.x) + first * d;
      const bool into_residual = !own_input && !shape.pre_norm;
      R* const target = own_input       ? Data<R>(result.attention_input) + first * d
                        : into_residual ? residual
                                        : part;
      std::int64_t column = 0;
      for (std::size_t i = 0; i < packed.size(); column += widths[i++]) {
        Multiply<T>(rows, d, widths[i], gradient + column, qkv_width, Data<T>(packed[i]), target, d,
                    /*add=*/into_residual || i > 0);
      }
      if (!own_input && shape.pre_norm) {
        kernels::NormBackward<R>(
            norm, rows, d, Data<R>(inputs.x) + first * d, Data<R>(saved.attention_norm_mean) + first,
            Data<R>(saved.attention_norm_inverse) + first, part, part,
            PartOf<R>(parts.attention_norm.gain, block), PartOf<R>(parts.attention_norm.offset, block));
        kernels::AddDropped<R>(rows, d, residual, part, nullptr, kernels::Dropout(), 0, residual);
      }
      if (parts.projections[0].bias.defined()) {
        // The projections' biases lie side by side.
        kernels::AddColumnSums<T>(rows, qkv_width, gradient, PartOf<R>(parts.projections[0].bias, block));
      }
    });
  }

  at::Tensor WeightGradient(const Linear& linear, const T* result_gradient, std::int64_t result_stride,
                            std::int64_t out, const at::Tensor& operand, std::int64_t in) {
    at::Tensor gradient = Empty<R>(linear.weight.sizes());
    const T* const x = Data<T>(operand);
    if (shape.in_out) {
      ProductOverRows<T>(m, x, in, in, result_gradient, result_stride, out, Data<R>(gradient), out);
    } else {
      ProductOverRows<T>(m, result_gradient, result_stride, out, x, in, in, Data<R>(gradient), in);
    }
    return gradient;
  }

  void WeightGradients() {
    INLIER_PROFILE("weight gradients");
    Weights& out = result.weights;
    PlaceVectors(weights, SumOfParts<R>(vectors), out);
    if (sinks.defined()) out.sinks = SumOfParts<R>(sinks);
    out.ffn_output.weight = WeightGradient(weights.ffn_output, Data<T>(ffn_result), d, d, saved.activated, f);
    out.ffn_input.weight =
        WeightGradient(weights.ffn_input, Data<T>(input_result), f, f, saved.ffn_operand, d);
    if (gate_result.defined())
      out.ffn_gate.weight =
          WeightGradient(weights.ffn_gate, Data<T>(gate_result), f, f, saved.ffn_operand, d);
    out.output.weight = WeightGradient(weights.output, Data<T>(output_result), d, d, saved.context, d);
    const std::vector<std::int64_t> widths = ProjectionWidths(shape, weights);
    std::int64_t column = 0;
    for (std::size_t i = 0; i < widths.size(); column += widths[i++]) {
      out.projections[i].weight = WeightGradient(weights.projections[i], Data<T>(qkv) + column, qkv_width,
                                                 widths[i], saved.projected, d);
    }
  }
};

}  // namespace

Gradients LayerBackward(const Call& call, const at::Tensor& y_gradient, double ffn_penalty_gradient) {
  const at::Tensor gradient = y_gradient.contiguous();
  return WithOperands(call.inputs.x, call.products, [&]<typename T>() {
    Backward<T> backward(call, gradient, ffn_penalty_gradient);
    backward.Allocate();
    backward.FeedForward();
    backward.Attend();
    backward.Project();
    backward.WeightGradients();
    return std::move(backward.result);
  });
}

}  // namespace inlier::layer::cpu
