// Sums over tokens that do not depend on the number of threads.
#ifndef INLIER_CORE_LAYER_CPU_VECTOR_GRADIENTS_H_
#define INLIER_CORE_LAYER_CPU_VECTOR_GRADIENTS_H_

#include <ATen/ops/zeros.h>

#include <cstdint>

#include "core/kernels/rows.h"
#include "core/layer_cpu/layer_parts.h"

namespace inlier::fused {

// Gradients of vectors (biases, norms): a sum of each block's own, in the order of the blocks.
template <typename R>
class VectorGradients {
 public:
  explicit VectorGradients(std::int64_t blocks) : blocks_(blocks) {}

  // Reserves the gradient of `vector`; -1 for an undefined one.
  std::int64_t Add(const at::Tensor& vector) {
    if (!vector.defined()) return -1;
    const std::int64_t place = width_;
    width_ += vector.numel();
    return place;
  }
  // After the last Add.
  void Allocate() { parts_ = at::zeros({blocks_, width_}, at::TensorOptions().dtype(kTypeOf<R>)); }

  R* Part(std::int64_t block, std::int64_t place) {
    return place < 0 ? nullptr : Data<R>(parts_) + block * width_ + place;
  }
  // The gradient at `place` of `vector`'s shape.
  at::Tensor Sum(std::int64_t place, const at::Tensor& vector) {
    if (place < 0) return {};
    if (!sums_.defined()) {
      sums_ = at::zeros({width_}, parts_.options());
      kernels::AddColumnSums<R>(blocks_, width_, Data<R>(parts_), Data<R>(sums_));
    }
    return sums_.slice(0, place, place + vector.numel()).view(vector.sizes());
  }

 private:
  std::int64_t blocks_;
  std::int64_t width_ = 0;
  at::Tensor parts_, sums_;
};

}  // namespace inlier::fused

#endif  // INLIER_CORE_LAYER_CPU_VECTOR_GRADIENTS_H_
