#include "core/nn/fused_norm.h"

#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/layer_cpu/vector_gradients.h"

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
        weights{.kind = static_cast<kernels::NormKind>(kind),
                .epsilon = static_cast<R>(epsilon),
                .gain = fused::Data<R>(gain),
                .offset = fused::Data<R>(offset)} {}
  std::int64_t width;
  fused::TokenBlocks blocks;
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
      mean = fused::Empty<R>({rows.blocks.tokens});
      inverse = fused::Empty<R>({rows.blocks.tokens});
      fused::ParallelFor(rows.blocks.count, [&](std::int64_t block) {
        const std::int64_t first = rows.blocks.First(block), place = first * rows.width;
        kernels::NormForward<R>(rows.weights, rows.blocks.Rows(block), rows.width, fused::Data<R>(x) + place,
                                fused::Data<R>(y) + place, nullptr, fused::Data<R>(mean) + first,
                                fused::Data<R>(inverse) + first);
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
      fused::VectorGradients<R> vectors(rows.blocks.count);
      const std::int64_t gain_place = vectors.Add(gain), offset_place = vectors.Add(offset);
      vectors.Allocate();
      fused::ParallelFor(rows.blocks.count, [&](std::int64_t block) {
        const std::int64_t first = rows.blocks.First(block), place = first * rows.width;
        kernels::NormBackward<R>(rows.weights, rows.blocks.Rows(block), rows.width, fused::Data<R>(x) + place,
                                 fused::Data<R>(mean) + first, fused::Data<R>(inverse) + first,
                                 fused::Data<R>(dy) + place, fused::Data<R>(dx) + place,
                                 vectors.Part(block, gain_place), vectors.Part(block, offset_place));
      });
      result.push_back(vectors.Sum(gain_place, gain));
      if (offset.defined()) result.push_back(vectors.Sum(offset_place, offset));
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
