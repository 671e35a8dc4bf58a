#include "core/quant/linear/learned_rotations.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "core/optim/cayley_sgd.h"
#include "core/optim/lr_schedule.h"
#include "core/optim/orthogonal_matrix.h"
#include "core/quant/linear/linear_rotation.h"

namespace inlier {

const at::Tensor& LearnedRotations::Matrix(const std::string& name, std::int64_t size,
                                           const at::Tensor& like) {
  INLIER_CHECK(phase_ != Phase::kNew);  // Else the model is rounded before it has learned.
  at::Tensor& matrix = matrices_[name];
  if (!matrix.defined()) {
    INLIER_CHECK(learns());
    matrix = RotationMatrix(seed_, name, size).to(like.device()).requires_grad_();
  }
  INLIER_CHECK(matrix.size(0) == size);
  return matrix;
}

absl::Status LearnedRotations::Update(const at::Tensor& loss, double learning_rate) {
  std::vector<at::Tensor> leaves;
  for (const auto& [name, matrix] : matrices_) leaves.push_back(matrix);
  const std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, leaves);
  std::size_t next = 0;
  for (auto& [name, matrix] : matrices_) {
    const at::Tensor moved = CayleySgdUpdate(matrix.detach(), gradients[next++], learning_rate);
    if (!at::isfinite(moved).all().item<bool>()) {
      return absl::InvalidArgumentError(
          absl::StrCat("quantization.rotation.learned: the loss of the rounded model, ", loss.item<double>(),
                       ", gives no finite update of the rotation \"", name,
                       "\": use more bits, a smaller learning_rate, or leave it out"));
    }
    // By rows, as the authors do.
    matrix = Orthonormalised(moved.t()).t().contiguous().requires_grad_();
  }
  return absl::OkStatus();
}

absl::Status LearnedRotations::Learn(const LossOfUpdate& loss_of) {
  INLIER_CHECK(phase_ == Phase::kNew);
  const c10::InferenceMode recorded(false);
  const LrSchedule schedule{.decay = LrSchedule::Decay::kCosine,
                            .peak = options_.learning_rate,
                            .warmup = 0,
                            .total = options_.steps};
  phase_ = Phase::kLearns;
  for (std::int64_t update = 0; update < options_.steps; ++update) {
    ASSIGN_OR_RETURN(const at::Tensor loss, loss_of(update));
    RETURN_IF_ERROR(Update(loss, schedule.At(update)));
  }
  phase_ = Phase::kLearned;
  for (auto& [name, matrix] : matrices_) matrix = matrix.detach();
  return absl::OkStatus();
}

}  // namespace inlier
