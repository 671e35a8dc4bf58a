#include "core/nn/fused_norm.h"

#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/layer_cpu/layer_parts.h"

namespace inlier {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <typename R>
struct Rows {
  Rows(const at::Tensor& x, std::int64_t kind, double epsilon, const at::Tensor& gain,
       const at::Tensor& offset)
      : width(x.size(-1)),
        blocks(x.numel() / x.size(-1), x.size(-1)),
        weights(layer::NormOf<R>(static_cast<kernels::NormKind>(kind), epsilon, {gain, offset})) {}
  std::int64_t width;
  layer::cpu::TokenBlocks blocks;
  kernels::NormWeights<R> weights;
};

// run.template operator()<float>(), or <double> for a tensor of that type.
template <typename Run>
auto WithReal(const at::Tensor& x, const Run& run) {
  return x.scalar_type() == at::kDouble ? run.template operator()<double>()
                                        : run.template operator()<float>();
}

class FusedNormFunction : public torch::autograd::Function<FusedNormFunction> {
 public:
  // tensors: x, the gain, and the offset where there is one.
  static at::Tensor forward(AutogradContext* context, at::TensorList tensors, std::int64_t kind,
                            double epsilon) {
    const at::Tensor x = tensors[0].contiguous();
    const at::Tensor offset = tensors.size() > 2 ? tensors[2] : at::Tensor();
    at::Tensor y = at::empty_like(x), mean, inverse;
    WithReal(x, [&]<typename R>() {
      const Rows<R> rows(x, kind, epsilon, tensors[1], offset);
      mean = layer::EmptyLike<R>(x, {rows.blocks.tokens});
      inverse = layer::EmptyLike<R>(x, {rows.blocks.tokens});
      layer::cpu::ParallelFor(rows.blocks.count, [&](std::int64_t block) {
        const std::int64_t first = rows.blocks.First(block), place = first * rows.width;
        kernels::NormForward<R>(rows.weights, rows.blocks.Rows(block), rows.width, layer::Data<R>(x) + place,
                                layer::Data<R>(y) + place, nullptr, layer::Data<R>(mean) + first,
                                layer::Data<R>(inverse) + first);
      });
    });
    context->save_for_backward({x, tensors[1], offset, mean, inverse});
    context->saved_data["kind"] = kind;
    context->saved_data["epsilon"] = epsilon;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &gain = saved[1], &offset = saved[2], &mean = saved[3],
                     &inverse = saved[4];
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor dx = at::empty_like(x);
    variable_list result = {dx};
    WithReal(x, [&]<typename R>() {
      const Rows<R> rows(x, context->saved_data["kind"].toInt(), context->saved_data["epsilon"].toDouble(),
                         gain, offset);
      // Each block has its own.
      const at::Tensor gains = at::zeros({rows.blocks.count, gain.numel()}, gain.options()),
                       offsets = offset.defined()
                                     ? at::zeros({rows.blocks.count, offset.numel()}, offset.options())
                                     : at::Tensor();
      layer::cpu::ParallelFor(rows.blocks.count, [&](std::int64_t block) {
        const std::int64_t first = rows.blocks.First(block), place = first * rows.width;
        kernels::NormBackward<R>(rows.weights, rows.blocks.Rows(block), rows.width, layer::Data<R>(x) + place,
                                 layer::Data<R>(mean) + first, layer::Data<R>(inverse) + first,
                                 layer::Data<R>(dy) + place, layer::Data<R>(dx) + place,
                                 layer::cpu::PartOf<R>(gains, block), layer::cpu::PartOf<R>(offsets, block));
      });
      for (const at::Tensor& parts : {gains, offsets})
        if (parts.defined()) result.push_back(layer::cpu::SumOfParts<R>(parts));
    });
    result.resize(result.size() + 2);  // Of the kind and of epsilon.
    return result;
  }
};

}  // namespace

at::Tensor FusedNorm(const at::Tensor& x, kernels::NormKind kind, double epsilon, const at::Tensor& gain,
                     const at::Tensor& offset) {
  variable_list tensors = {x, gain};
  if (offset.defined()) tensors.push_back(offset);
  return FusedNormFunction::apply(at::TensorList(tensors), static_cast<std::int64_t>(kind), epsilon);
}

}  // namespace inlier
