// Shared by the forward and the backward pass of a layer (layer.h), on the CPU and on a GPU.
#ifndef INLIER_CORE_LAYER_PARTS_H_
#define INLIER_CORE_LAYER_PARTS_H_

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <type_traits>
#include <vector>

#include "core/layer/layer.h"

namespace inlier::layer {

using kernels::Bf16;
using kernels::Real;

template <typename T>
constexpr c10::ScalarType kTypeOf = std::is_same_v<T, double> ? c10::kDouble
                                    : std::is_same_v<T, Bf16> ? c10::kBFloat16
                                                              : c10::kFloat;

// A new tensor that lies where `x` does.
template <typename T>
at::Tensor EmptyLike(const at::Tensor& x, at::IntArrayRef sizes) {
  return at::empty(sizes, x.options().dtype(kTypeOf<T>).requires_grad(false));
}

// The elements of a contiguous tensor of T; null for an undefined one.
template <typename T>
T* Data(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}

struct Pass {
  explicit Pass(const Call& call) : shape(call.shape), weights(call.weights), inputs(call.inputs) {}

  template <typename T>
  at::Tensor Empty(at::IntArrayRef sizes) const {
    return EmptyLike<T>(inputs.x, sizes);
  }

  const Shape& shape;
  const Weights& weights;
  const Inputs& inputs;
  const std::int64_t m = shape.batch * shape.tokens;
  const std::int64_t d = shape.width;
  const std::int64_t f = shape.ffn;
  const std::int64_t qkv_width = QkvWidth(shape);
};

// Columns that each of Weights::projections gives.
inline std::vector<std::int64_t> ProjectionWidths(const Shape& shape, const Weights& weights) {
  std::vector<std::int64_t> widths;
  for (const Linear& linear : weights.projections) widths.push_back(linear.weight.size(shape.in_out ? 1 : 0));
  return widths;
}

// The projections' biases as one vector, which is undefined where they have none.
inline at::Tensor JoinedBias(const Weights& weights) {
  std::vector<at::Tensor> biases;
  for (const Linear& linear : weights.projections)
    if (linear.bias.defined()) biases.push_back(linear.bias);
  return biases.empty() ? at::Tensor() : at::cat(biases);
}

template <typename R>
kernels::NormWeights<R> NormOf(kernels::NormKind kind, double epsilon, const Norm& norm) {
  return {.kind = kind,
          .epsilon = static_cast<R>(epsilon),
          .gain = Data<R>(norm.gain),
          .offset = Data<R>(norm.offset)};
}
template <typename R>
kernels::NormWeights<R> NormOf(const Shape& shape, const Norm& norm) {
  return NormOf<R>(shape.norm, shape.epsilon, norm);
}

// Vectors are biases, gains, offsets and sinks. Their gradients lie side by side, those of the projections' biases first.
inline bool IsVector(const at::Tensor& weight) { return weight.defined() && weight.dim() == 1; }

inline std::int64_t VectorsWidth(const Weights& weights) {
  std::int64_t width = 0;
  VisitWeights(weights, [&](const at::Tensor& weight) { width += IsVector(weight) ? weight.numel() : 0; });
  return width;
}

// The vectors of `gradients` become their places in `row` (VectorsWidth), or their columns of a matrix of such rows.
inline void PlaceVectors(const Weights& weights, const at::Tensor& row, Weights& gradients) {
  std::vector<at::Tensor> places;
  std::int64_t column = 0;
  VisitWeights(weights, [&](const at::Tensor& weight) {
    places.push_back(IsVector(weight) ? row.narrow(-1, column, weight.numel()) : at::Tensor());
    column += IsVector(weight) ? weight.numel() : 0;
  });
  gradients.projections.resize(weights.projections.size());
  auto place = places.begin();
  VisitWeights(gradients, [&](at::Tensor& gradient) { gradient = *place++; });
}

}  // namespace inlier::layer

#endif  // INLIER_CORE_LAYER_PARTS_H_
