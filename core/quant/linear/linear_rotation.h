// Rotations of what a model's linears read and write, which change nothing but rounding.   (Ashkboos et al. 2024, QuaRot)
//
// Of a pre-norm model with RMSNorm, g the norm's gain, Q and H orthogonal:
//   reads a norm              x' = (x / g) Q     W' = W diag(g) Q     x' W'^T = x W^T
//   reads context or FFN      x' = x H           W' = W H             the same; H = 1 without `ffn`
//   writes the residual       W' = Q^T W, rounded, then Q W';  an output y that is rounded: y Q, rounded, then y' Q^T
// This rounds the tensors that the rotated model of the paper would round, where Q is folded into the weights and the residual
// stream itself is rotated: the model here keeps its weights and its stream. x / g is x of the norm without its gain; where g
// is 0, x is 0, any x' serves, and 0 is used. Keys and values are not rotated here, of a Llama they are by position only.
//
// Q and H are Hadamard matrices with random signs; of sizes other than powers of two a Kronecker product of the largest one
// that divides the size and a random orthogonal matrix. They are functions of (seed, purpose, size) alone, the same in every
// layer. Products are in the tensor's own precision, of weights in double.
#ifndef INLIER_CORE_QUANT_LINEAR_LINEAR_ROTATION_H_
#define INLIER_CORE_QUANT_LINEAR_LINEAR_ROTATION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "core/quant/linear/linear_options.h"
#include "core/quant/linear/linear_sites.h"

namespace inlier {

class LinearRotation {
 public:
  explicit LinearRotation(const RotationOptions& options) : options_(options) {}

  // The gain, (d) or (1), of the norm at `site`; of each pass, before what reads the norm.
  void SeeGain(const std::string& site, const at::Tensor& gain) { gains_[site] = gain; }

  // x' of x (…, in). REQUIRES: SeeGain of the norm that `place` reads.
  at::Tensor Input(const LinearPlace& place, const at::Tensor& x);
  // W' of W (out, in), as it is rounded.
  at::Tensor Weight(const LinearPlace& place, const at::Tensor& weight);
  // A W' with the residual stream's basis as the model has it: what x' is multiplied by.
  at::Tensor UsedWeight(const LinearPlace& place, const at::Tensor& rotated);
  // y (…, out) as it is rounded, and back.
  at::Tensor Output(const LinearPlace& place, const at::Tensor& y);
  at::Tensor UsedOutput(const LinearPlace& place, const at::Tensor& rotated);

 private:
  enum class Purpose { kResidual, kFfn };

  // (size, size), in the dtype and on the device of `like`.
  const at::Tensor& Matrix(Purpose purpose, std::int64_t size, const at::Tensor& like);
  const at::Tensor& GainOf(const LinearPlace& place) const;

  const RotationOptions options_;
  std::unordered_map<std::string, at::Tensor> gains_;  // By the norm's path.
  std::map<std::tuple<Purpose, std::int64_t, at::ScalarType>, at::Tensor> matrices_;
};

// The orthogonal matrix of `size` of a seed and a purpose: (size, size), double, CPU.
at::Tensor RotationMatrix(std::uint32_t seed, const std::string& purpose, std::int64_t size);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LINEAR_ROTATION_H_
