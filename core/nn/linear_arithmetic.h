// How linears multiply where it is not LibTorch's linear: in a training with rounded operands.
#ifndef INLIER_CORE_NN_LINEAR_ARITHMETIC_H_
#define INLIER_CORE_NN_LINEAR_ARITHMETIC_H_

#include <ATen/core/Tensor.h>

#include <string>

namespace inlier {

class LinearArithmetic {
 public:
  virtual ~LinearArithmetic() = default;

  // x W^T + b of the linear whose weight is the parameter `name` + ".weight": x (..., in), weight (out, in) and bias (out), or
  // undefined, give (..., out).
  virtual at::Tensor Product(const std::string& name, const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& bias) = 0;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_LINEAR_ARITHMETIC_H_
