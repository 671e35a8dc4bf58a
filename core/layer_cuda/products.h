// Products of bfloat16 matrices, left (m, k) and right (k, n), any strides.
#ifndef INLIER_CORE_LAYER_CUDA_PRODUCTS_H_
#define INLIER_CORE_LAYER_CUDA_PRODUCTS_H_

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

namespace inlier::layer::gpu {

// Rounded to bfloat16.
inline at::Tensor Product(const at::Tensor& left, const at::Tensor& right) { return at::mm(left, right); }

// sum (m, n), float32, becomes the product, or sum + product. LibTorch has this for CUDA alone; on a CPU (tests)
// factors are widened.
inline void WideProductTo(at::Tensor sum, const at::Tensor& left, const at::Tensor& right) {
  if (left.is_cpu()) {
    at::mm_out(sum, left.to(at::kFloat), right.to(at::kFloat));
  } else {
    at::mm_out(sum, left, right, at::kFloat);
  }
}
inline void AddProduct(at::Tensor sum, const at::Tensor& left, const at::Tensor& right) {
  if (left.is_cpu()) {
    at::addmm_out(sum, sum, left.to(at::kFloat), right.to(at::kFloat));
  } else {
    at::addmm_out(sum, sum, left, right, at::kFloat);
  }
}

inline at::Tensor WideProduct(const at::Tensor& left, const at::Tensor& right) {
  at::Tensor product = at::empty({left.size(0), right.size(1)}, left.options().dtype(at::kFloat));
  WideProductTo(product, left, right);
  return product;
}

}  // namespace inlier::layer::gpu

#endif  // INLIER_CORE_LAYER_CUDA_PRODUCTS_H_
