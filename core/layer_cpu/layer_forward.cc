#include <ATen/ops/full.h>

#include <algorithm>
#include <numeric>

#include "core/kernels/heads.h"
#include "core/layer_cpu/head_parts.h"
#include "core/layer_cpu/layer.h"
#include "core/layer_cpu/layer_parts.h"
#include "core/layer_cpu/profile.h"

namespace inlier::layer::cpu {
namespace {

template <typename T>
struct Forward : Pass {
  using R = Real<T>;

  explicit Forward(Call& call) : Pass(call), saved(call.saved) {}

  Saved& saved;
  const TokenBlocks blocks = BlocksOf(shape);
  const LayerGates gates{shape, inputs};

  void Allocate() {
    saved.projected = Empty<T>({m, d});
    saved.qkv = Empty<T>({m, qkv_width});
    saved.softmax_statistics = Empty<R>({shape.batch, shape.heads, shape.tokens, 2});
    if (gates.heads.defined() || weights.query_norm.gain.defined())
      saved.plain_heads = Empty<R>({m, qkv_width});
    if (weights.query_norm.gain.defined()) {
      saved.head_norm_mean = Empty<R>({m, shape.heads + shape.kv_heads});
      saved.head_norm_inverse = Empty<R>({m, shape.heads + shape.kv_heads});
    }
    if (gates.output.defined()) saved.plain_output = Empty<R>({m, d});
    if (gates.context.defined()) saved.ungated = Empty<T>({m, d});
    saved.context = Empty<T>({m, d});
    saved.attention_sum = Empty<R>({m, d});
    saved.ffn_operand = Empty<T>({m, d});
    if (weights.ffn_gate.weight.defined()) saved.gate_hidden = Empty<T>({m, f});
    saved.hidden = Empty<T>({m, f});
    saved.activated = Empty<T>({m, f});
    if (shape.ffn_penalty) saved.ffn_output = Empty<R>({m, d});
    if (!shape.pre_norm) saved.ffn_sum = Empty<R>({m, d});
    for (at::Tensor* row : {&saved.attention_norm_mean, &saved.attention_norm_inverse, &saved.ffn_norm_mean,
                            &saved.ffn_norm_inverse}) {
      *row = Empty<R>({m});
    }
  }

  // Queries, keys and values of some tokens, gated and normed, from the products with their biases.
  void FinishHeads(std::int64_t first, std::int64_t rows, R* heads, T* qkv) {
    std::copy_n(heads, rows * qkv_width, Data<R>(saved.plain_heads) + first * qkv_width);
    if (gates.heads.defined())
      PartGate<R>(shape, gates.heads).Apply(first, rows, Data<R>(gates.heads), heads, qkv_width);
    kernels::AddBias<T>(rows, qkv_width, heads, nullptr, qkv);
    if (!weights.query_norm.gain.defined()) return;
    const std::int64_t at = first * (shape.heads + shape.kv_heads);
    HeadNorms<R>(shape, weights)
        .template Forward<T>(rows, qkv_width, heads, qkv, Data<R>(saved.head_norm_mean) + at,
                             Data<R>(saved.head_norm_inverse) + at);
  }

  void Project() {
    INLIER_PROFILE("projections");
    const std::vector<std::int64_t> widths = ProjectionWidths(shape, weights);
    std::vector<at::Tensor> packed;
    for (const Linear& linear : weights.projections) packed.push_back(PackForward<T>(shape, linear));
    const at::Tensor bias = JoinedBias(weights);
    const bool own_input = inputs.attention_input.defined();
    const R* const source = Data<R>(own_input ? inputs.attention_input : inputs.x);
    ParallelFor(blocks.count, [&](std::int64_t block) {
      const std::int64_t first = blocks.First(block), rows = blocks.Rows(block);
      ScratchCutter cutter(Scratch(ScratchSlot::kLayer, ScratchCutter::BytesOf<R>(blocks.size * qkv_width)));
      R* const product = cutter.Take<R>(rows * qkv_width);
      T* const operand = Data<T>(saved.projected) + first * d;
      if (shape.pre_norm && !own_input) {
        kernels::NormForward<T>(NormOf<R>(shape, weights.attention_norm), rows, d, source + first * d,
                                nullptr, operand, Data<R>(saved.attention_norm_mean) + first,
                                Data<R>(saved.attention_norm_inverse) + first);
      } else {
        kernels::AddBias<T>(rows, d, source + first * d, nullptr, operand);
      }
      std::int64_t column = 0;
      for (std::size_t i = 0; i < packed.size(); column += widths[i++]) {
        Multiply<T>(rows, widths[i], d, operand, d, Data<T>(packed[i]), product + column, qkv_width,
                    /*add=*/false);
      }
      T* const qkv = Data<T>(saved.qkv) + first * qkv_width;
      if (saved.plain_heads.defined()) {
        kernels::AddBias<R>(rows, qkv_width, product, Data<R>(bias), product);
        FinishHeads(first, rows, product, qkv);
      } else {
        kernels::AddBias<T>(rows, qkv_width, product, Data<R>(bias), qkv);
      }
      if (inputs.cosine.defined()) {
        kernels::RotateHeads<T>(rows, first, shape.tokens, shape.heads + shape.kv_heads,
                                shape.attention.head_size, Data<R>(inputs.cosine), Data<R>(inputs.sine),
                                /*inverse=*/false, qkv, qkv_width);
      }
    });
  }

  void Attend() {
    INLIER_PROFILE("attention");
    const std::int64_t size = shape.attention.head_size, tokens = shape.tokens;
    const std::size_t own = ScratchCutter::BytesOf<R>(tokens * size);
    const std::size_t inner = static_cast<std::size_t>(AttentionScratch<T>(shape.attention));
    ParallelFor(shape.batch * shape.heads, [&](std::int64_t item) {
      const std::int64_t sequence = item / shape.heads, head = item % shape.heads;
      std::byte* const scratch = Scratch(ScratchSlot::kAttention, own + inner);
      R* const o = reinterpret_cast<R*>(scratch);
      AttentionForward<T>(shape.attention,
                          HeadOf<T>(shape, weights, inputs, Data<T>(saved.qkv), sequence, head), o, size,
                          Data<R>(saved.softmax_statistics) + 2 * item * tokens, scratch + own);
      const std::int64_t place = sequence * tokens * d + head * size;
      kernels::StoreHead<T>(tokens, size, o, GateOf<T>(shape, gates.context, item),
                            gates.context.defined() ? Data<T>(saved.ungated) + place : nullptr,
                            Data<T>(saved.context) + place, d);
    });
  }

  // The mean over all tokens, from the sums of each.
  at::Tensor Penalty(const std::vector<double>& sums) const {
    if (!shape.ffn_penalty) return {};
    const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
    return at::full({}, sum / static_cast<double>(m * d), inputs.x.options().requires_grad(false));
  }

  // The residual sum after the attention of some tokens. `output` is packed, `product` memory of (rows, d).
  void AddContext(std::int64_t first, std::int64_t rows, const at::Tensor& output, R* product, R* sum) {
    Multiply<T>(rows, d, d, Data<T>(saved.context) + first * d, d, Data<T>(output), product, d,
                /*add=*/false);
    const R* bias = Data<R>(weights.output.bias);
    if (gates.output.defined()) {
      kernels::AddBias<R>(rows, d, product, bias, product);
      std::copy_n(product, rows * d, Data<R>(saved.plain_output) + first * d);
      PartGate<R>(shape, gates.output).Apply(first, rows, Data<R>(gates.output), product, d);
      bias = nullptr;
    }
    kernels::AddDropped<R>(rows, d, Data<R>(inputs.x) + first * d, product, bias, shape.attention_dropout,
                           static_cast<std::uint64_t>(first), sum);
  }

  Result FeedForward() {
    INLIER_PROFILE("output and feed-forward");
    std::vector<double> powers(shape.ffn_penalty ? static_cast<std::size_t>(m) : 0);
    at::Tensor y = Empty<R>({shape.batch, shape.tokens, d});
    const at::Tensor output = PackForward<T>(shape, weights.output);
    const at::Tensor gate = PackForward<T>(shape, weights.ffn_gate);
    const at::Tensor input = PackForward<T>(shape, weights.ffn_input);
    const at::Tensor last = PackForward<T>(shape, weights.ffn_output);
    const auto attention_norm = NormOf<R>(shape, weights.attention_norm);
    const auto ffn_norm = NormOf<R>(shape, weights.ffn_norm);
    const std::size_t narrow = ScratchCutter::BytesOf<R>(blocks.size * d);
    const std::size_t wide = ScratchCutter::BytesOf<R>(blocks.size * f);
    ParallelFor(blocks.count, [&](std::int64_t block) {
      const std::int64_t first = blocks.First(block), rows = blocks.Rows(block);
      ScratchCutter cutter(Scratch(ScratchSlot::kLayer, 2 * narrow + 2 * wide));
      R* const product = cutter.Take<R>(blocks.size * d);
      R* const normed = cutter.Take<R>(blocks.size * d);
      R* const hidden = cutter.Take<R>(blocks.size * f);
      R* const gate_hidden = cutter.Take<R>(blocks.size * f);
      const auto at_d = [&](const at::Tensor& tensor) { return Data<R>(tensor) + first * d; };
      const auto at_row = [&](const at::Tensor& tensor) { return Data<R>(tensor) + first; };
      const std::uint64_t row = static_cast<std::uint64_t>(first);

      R* const sum = at_d(saved.attention_sum);
      AddContext(first, rows, output, product, sum);
      T* const operand = Data<T>(saved.ffn_operand) + first * d;
      if (shape.pre_norm) {
        kernels::NormForward<T>(ffn_norm, rows, d, sum, nullptr, operand, at_row(saved.ffn_norm_mean),
                                at_row(saved.ffn_norm_inverse));
      } else {
        kernels::NormForward<T>(attention_norm, rows, d, sum, normed, operand,
                                at_row(saved.attention_norm_mean), at_row(saved.attention_norm_inverse));
      }
      T* const activated = Data<T>(saved.activated) + first * f;
      Multiply<T>(rows, f, d, operand, d, Data<T>(input), hidden, f, /*add=*/false);
      if (gate.defined()) {
        Multiply<T>(rows, f, d, operand, d, Data<T>(gate), gate_hidden, f, /*add=*/false);
        kernels::GatedForward<T>(shape.activation, rows, f, gate_hidden, Data<R>(weights.ffn_gate.bias),
                                 hidden, Data<R>(weights.ffn_input.bias),
                                 Data<T>(saved.gate_hidden) + first * f, Data<T>(saved.hidden) + first * f,
                                 activated);
      } else {
        kernels::ActivationForward<T>(shape.activation, rows, f, hidden, Data<R>(weights.ffn_input.bias),
                                      Data<T>(saved.hidden) + first * f, activated);
      }
      Multiply<T>(rows, d, f, activated, f, Data<T>(last), product, d, /*add=*/false);
      const R* update = product;
      const R* bias = Data<R>(weights.ffn_output.bias);
      if (shape.ffn_penalty) {
        R* const whole = at_d(saved.ffn_output);
        kernels::AddBias<R>(rows, d, product, bias, whole);
        kernels::SumPowers<R>(*shape.ffn_penalty, rows, d, whole, powers.data() + first);
        update = whole;
        bias = nullptr;
      }
      R* const out = at_d(y);
      if (shape.pre_norm) {
        kernels::AddDropped<R>(rows, d, sum, update, bias, shape.ffn_dropout, row, out);
      } else {
        kernels::AddDropped<R>(rows, d, normed, update, bias, shape.ffn_dropout, row, at_d(saved.ffn_sum));
        kernels::NormForward<T>(ffn_norm, rows, d, at_d(saved.ffn_sum), out, nullptr,
                                at_row(saved.ffn_norm_mean), at_row(saved.ffn_norm_inverse));
      }
    });
    return {y, Penalty(powers)};
  }
};

}  // namespace

Result LayerForward(Call& call) {
  return WithOperands(call.inputs.x, call.products, [&]<typename T>() {
    Forward<T> forward(call);
    forward.Allocate();
    forward.Project();
    forward.Attend();
    return forward.FeedForward();
  });
}

}  // namespace inlier::layer::cpu
