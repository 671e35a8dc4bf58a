#include "core/quant/gptq.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/addmv.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace inlier {
namespace {

// Channels whose earlier errors are added in one product of matrices; a matter of speed alone.
constexpr std::int64_t kChannelsPerBlock = 64;

// R_kj / R_kk, where the damped moments are R^T R.
absl::StatusOr<at::Tensor> Feedback(const at::Tensor& damped, double damping) {
  if (!damped.isfinite().all().item<bool>()) {
    return absl::InvalidArgumentError(
        "quantization.gptq: second moments of a linear's input are not finite, because an activation of the "
        "calibration batches is not: check the model, or leave gptq out");
  }
  const auto [factor, failed_at] = at::linalg_cholesky_ex(damped, /*upper=*/true);
  if (failed_at.item<int>() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("quantization.gptq.damping: with ", damping,
                     " the second moments of a linear's input are not positive definite: increase it, or "
                     "calibrate on more batches"));
  }
  return factor / factor.diagonal().unsqueeze(1);
}

// Rows [begin, end) of `exact`, one a channel, moved for the errors of the rows from `end` on so that the loss is least where the
// channels before `end` are not rounded at all: their parts of it are 0.
at::Tensor Corrected(const at::Tensor& exact, const at::Tensor& feedback, const at::Tensor& errors,
                     std::int64_t begin, std::int64_t end) {
  const at::Tensor rows = exact.slice(0, begin, end), of_rows = feedback.slice(0, begin, end);
  if (end == exact.size(0)) return rows;
  return rows + at::linalg_solve_triangular(of_rows.slice(1, begin, end),
                                            of_rows.slice(1, end).matmul(errors.slice(0, end)),
                                            /*upper=*/true, /*left=*/true, /*unitriangular=*/true);
}

}  // namespace

void InputMoments::Add(const at::Tensor& x, const at::Tensor& token_mask) {
  const c10::NoGradGuard no_grad;
  at::Tensor rows = x.reshape({-1, x.size(-1)});
  if (token_mask.defined() && token_mask.numel() == rows.size(0))
    rows = rows.index_select(0, token_mask.flatten().nonzero().squeeze(1));
  if (rows.size(0) == 0) return;
  rows = rows.to(at::kDouble);
  if (!matrix_.defined()) {
    matrix_ = at::zeros({rows.size(1), rows.size(1)}, rows.options());
    mean_magnitude_ = at::zeros({rows.size(1)}, rows.options());
  }
  INLIER_CHECK(matrix_.size(0) == rows.size(1));
  const double before = static_cast<double>(count_);
  count_ += rows.size(0);
  const double all = static_cast<double>(count_);
  matrix_.addmm_(rows.t(), rows, /*beta=*/before / all, /*alpha=*/2 / all);
  mean_magnitude_.mul_(before / all).add_(rows.abs().sum(0), 1 / all);
}

// With the first channel to round last, and H = R^T R for an upper triangle R, the loss is |(W - Q) R^T|^2, and its
// part k is R_kk times
//   (w_k - q_k) + sum_{j > k} (w_j - q_j) R_kj / R_kk
// for the channels j rounded before. So the best value of channel k is t_k = w_k + sum …: that of the paper's updates
// (Chee et al. 2023, QuIP, theorem 6), which take it from the Cholesky factor of H^-1. Here no inverse is needed.
absl::StatusOr<at::Tensor> GptqRound(
    const at::Tensor& weight, const at::Tensor& moments, const GptqOptions& options,
    const std::function<at::Tensor(const at::Tensor& column, std::int64_t index)>& round,
    const GptqGroups& groups) {
  INLIER_CHECK(weight.dim() == 2 && (groups.size == 0 || !options.by_size));
  const std::int64_t channels = weight.size(1);
  INLIER_CHECK(moments.dim() == 2 && moments.size(0) == channels && moments.size(1) == channels);
  const c10::NoGradGuard no_grad;

  at::Tensor damped = moments.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  at::Tensor diagonal = damped.diagonal();
  const at::Tensor dead = diagonal.eq(0);
  diagonal.masked_fill_(dead, 1);
  const at::Tensor first_to_last = options.by_size
                                       ? diagonal.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/true)
                                       : at::arange(channels, dead.options().dtype(at::kLong));
  const at::Tensor order = first_to_last.flip(0);
  diagonal.add_(diagonal.mean().mul_(options.damping));

  ASSIGN_OR_RETURN(const at::Tensor feedback,
                   Feedback(damped.index_select(0, order).index_select(1, order), options.damping));

  // One row a channel, in `order`.
  const at::Tensor exact = weight.to(at::kDouble)
                               .t()
                               .index_select(0, order)
                               .masked_fill_(dead.index_select(0, order).unsqueeze(1), 0);
  const at::Tensor errors = at::empty_like(exact);
  const at::Tensor rounded = at::empty(exact.sizes(), weight.options());
  const at::Tensor indices = order.cpu();
  const std::int64_t* const index = indices.const_data_ptr<std::int64_t>();
  for (std::int64_t end = channels; end > 0; end -= kChannelsPerBlock) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - kChannelsPerBlock);
    const at::Tensor block = at::addmm(exact.slice(0, begin, end),
                                       feedback.slice(0, begin, end).slice(1, end), errors.slice(0, end));
    for (std::int64_t k = end - 1; k >= begin; --k) {
      if (groups.size > 0 && index[k] % groups.size == 0) {
        const std::int64_t last = std::max<std::int64_t>(0, k + 1 - groups.size);
        groups.begin(Corrected(exact, feedback, errors, last, k + 1).flip(0).t(), index[k]);
      }
      const at::Tensor best = at::addmv(block.select(0, k - begin), errors.slice(0, k + 1, end).t(),
                                        feedback.select(0, k).slice(0, k + 1, end));
      rounded.select(0, k).copy_(round(best, index[k]));
      errors.select(0, k).copy_(exact.select(0, k)).sub_(rounded.select(0, k));
    }
  }
  return rounded.index_select(0, order.argsort()).t().contiguous();
}

}  // namespace inlier
