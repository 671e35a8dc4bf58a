// Rotations that are learned: from random ones, by the loss of the model as it is rounded. (Liu et al. 2025, SpinQuant, 3.2)
//
// Each update takes one batch, the gradient of its loss with respect to every matrix, straight through the roundings, and
// CayleySgdUpdate; the rate falls as half a cosine. Without rounding the loss does not depend on the matrices, as long as they are
// orthogonal: so they are orthonormalised after every update, and not by chance once in 101 as in the authors' code, whose
// matrices are off by some 1e-3 between. Theirs are float32, these float64; a basis of the model's stream in place of the
// rotated one (linear_rotation.h) changes gradients only in directions that leave the orthogonal matrices.
#ifndef INLIER_CORE_QUANT_LINEAR_LEARNED_ROTATIONS_H_
#define INLIER_CORE_QUANT_LINEAR_LEARNED_ROTATIONS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "core/quant/linear/linear_options.h"
#include "core/quant/quantization.h"

namespace inlier {

class LearnedRotations {
 public:
  LearnedRotations(std::uint32_t seed, const LearnedRotationOptions& options)
      : seed_(seed), options_(options) {}

  // True while Learn() runs: Matrix() gives leaves of autograd, new ones in each update.
  bool learns() const { return phase_ == Phase::kLearns; }

  // The matrix of that name, (size, size), float64, on the device of `like`; at first RotationMatrix.
  // REQUIRES: Learn() runs or has ended, and has used each matrix that is asked for after it.
  const at::Tensor& Matrix(const std::string& name, std::int64_t size, const at::Tensor& like);

  // Once. The errors of `loss_of`, and InvalidArgument where a matrix is not finite any more.
  absl::Status Learn(const LossOfUpdate& loss_of);

 private:
  enum class Phase { kNew, kLearns, kLearned };

  absl::Status Update(const at::Tensor& loss, double learning_rate);

  const std::uint32_t seed_;
  const LearnedRotationOptions options_;
  Phase phase_ = Phase::kNew;
  std::map<std::string, at::Tensor> matrices_;
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LEARNED_ROTATIONS_H_
