// Rotations of what a model's linears read and write, which change nothing but rounding.   (Ashkboos et al. 2024, QuaRot)
//
// Of a pre-norm model, g and b the norm's gain and offset (b = 0 of RMSNorm), Q and H orthogonal:
//   reads a norm              x' = ((x - b) / g) Q   W' = W diag(g) Q   x' W'^T + W b = x W^T;  W b is added in float
//   reads context or FFN      x' = x H               W' = W H           the same; H = 1 without `ffn`
//   writes the residual       W' = Q^T M W, rounded, then Q W';  an output y that is rounded: y M Q, rounded, then y' Q^T
// M = 1 of RMSNorm. LayerNorm takes the mean of the features out, so that what is written need have none: M = 1 - 11^T / d, and
// the norm is an RMSNorm of a stream without mean (Ashkboos et al. 2024, SliceGPT, section 3.2; QuaRot's code for OPT).
// The norm stays a LayerNorm, and takes the mean of the errors of rounding out too, 1 / d of them, which that RMSNorm keeps.
// This rounds the tensors that the rotated model of the paper would round, where Q is folded into the weights and the residual
// stream itself is rotated: the model here keeps its weights and its stream, but for the mean that M takes away. (x - b) / g is
// x of the norm without gain and offset; where g is 0, any x' serves, and 0 is used. Keys and values: kv_cache_quantization.h.
//
// Learned, Q and a matrix R2 (h, h) of each layer's heads are trained (learned_rotations.h): of the paper's rotations R1 and R2.
//   reads context             x' = x R2 of each head alone, W' = W R2 likewise; with and without `ffn`, for R2 can be folded into the
//                             weights of values and output. H is for the FFN alone, the paper's R4, and stays random.
//
// Q and H are Hadamard matrices with random signs; of sizes other than powers of two a Kronecker product of the largest one
// that divides the size and a random orthogonal matrix. They are functions of (seed, purpose, size) alone, the same in every
// layer; R2 starts as such a one of its own a layer. Products are in the tensor's own precision, of weights in double.
#ifndef INLIER_CORE_QUANT_LINEAR_LINEAR_ROTATION_H_
#define INLIER_CORE_QUANT_LINEAR_LINEAR_ROTATION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "core/quant/linear/learned_rotations.h"
#include "core/quant/linear/linear_options.h"
#include "core/quant/linear/linear_sites.h"

namespace inlier {

class LinearRotation {
 public:
  explicit LinearRotation(const RotationOptions& options);

  // The gain, (d) or (1), of the norm at `site`, and of LayerNorm its offset, (d); of each pass, before what reads the norm.
  void SeeGain(const std::string& site, const at::Tensor& gain) { gains_[site] = gain.detach(); }
  void SeeOffset(const std::string& site, const at::Tensor& offset) { offsets_[site] = offset.detach(); }
  // The width of a head of the attention at `site`; of each pass, before what reads its context.
  void SeeHeads(const std::string& site, std::int64_t width) { head_widths_[site] = width; }

  // x - b of x (…, in), and x' of that. REQUIRES: SeeGain of the norm that `place` reads.
  at::Tensor WithoutOffset(const LinearPlace& place, const at::Tensor& x);
  at::Tensor Input(const LinearPlace& place, const at::Tensor& x);
  // W b, (out), of W (out, in); undefined where there is no offset.
  at::Tensor Shift(const LinearPlace& place, const at::Tensor& weight);
  // W' of W (out, in), as it is rounded.
  at::Tensor Weight(const LinearPlace& place, const at::Tensor& weight);
  // A W' with the residual stream's basis as the model has it: what x' is multiplied by.
  at::Tensor UsedWeight(const LinearPlace& place, const at::Tensor& rotated);
  // y (…, out) as it is rounded, and back.
  at::Tensor Output(const LinearPlace& place, const at::Tensor& y);
  at::Tensor UsedOutput(const LinearPlace& place, const at::Tensor& rotated);

  // Quantization's, of the same names. REQUIRES of the second: a Learn() that has ended, or runs.
  absl::Status Learn(const LossOfUpdate& loss_of);
  at::Tensor LearnedRotationOf(const std::string& site, const at::Tensor& values);

 private:
  // Q, H or the R2 of an attention, by name: (size, size), in the dtype and on the device of `like`.
  at::Tensor Matrix(const std::string& name, std::int64_t size, const at::Tensor& like);
  // Of x (…, in), a linear's that reads no norm, or of its weight: x H or x R2.
  at::Tensor TurnedInside(const LinearPlace& place, const at::Tensor& x);
  const at::Tensor& GainOf(const LinearPlace& place) const;
  // b of the norm that `place` reads; null without one.
  const at::Tensor* OffsetOf(const LinearPlace& place) const;
  // M along `axis` of what is written to the residual stream.
  at::Tensor Centred(const at::Tensor& written, std::int64_t axis) const;

  const RotationOptions options_;
  std::unordered_map<std::string, at::Tensor> offsets_;  // As gains_.
  std::unordered_map<std::string, at::Tensor> gains_;    // By the norm's path.
  std::unordered_map<std::string, std::int64_t> head_widths_;
  std::optional<LearnedRotations> learned_;
  std::map<std::tuple<std::string, std::int64_t, at::ScalarType>, at::Tensor> matrices_;
};

// The orthogonal matrix of `size` of a seed and a purpose: (size, size), double, CPU.
at::Tensor RotationMatrix(std::uint32_t seed, const std::string& purpose, std::int64_t size);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LINEAR_ROTATION_H_
