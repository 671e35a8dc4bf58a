#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "core/cuda/cross_entropy.h"
#include "core/cuda/rows.h"
#include "core/layer_cuda/launch.h"
#include "core/layer_cuda/layer.h"
#include "core/layer_cuda/layer_parts.h"

namespace inlier::layer::gpu {
namespace {

constexpr std::int64_t kLogitsAtOnce = std::int64_t{1} << 27;  // 256 MiB.
constexpr std::int64_t kStrideMultiple = 64;                   // Rows of logits start at an aligned address.

}  // namespace

VocabularyResult ComputeVocabularyLoss(const VocabularyInputs& inputs, bool gradients) {
  const std::int64_t n = inputs.hidden.size(0), width = inputs.hidden.size(1),
                     classes = inputs.weight.size(0);
  const std::int64_t stride = (classes + kStrideMultiple - 1) / kStrideMultiple * kStrideMultiple;
  const std::int64_t rows_at_once = std::clamp<std::int64_t>(kLogitsAtOnce / stride, 1, n);
  const cudaStream_t stream = StreamOf(inputs.hidden);
  const auto zeros = [&](at::IntArrayRef sizes) {
    return at::zeros(sizes, inputs.hidden.options().requires_grad(false));
  };
  const at::Tensor hidden = inputs.hidden.to(at::kBFloat16), weight = inputs.weight.to(at::kBFloat16);
  const at::Tensor logits = EmptyLike<Bf16>(hidden, {rows_at_once, stride});
  const at::Tensor losses = EmptyLike<float>(hidden, {n});
  VocabularyResult result;
  at::Tensor bias_sums, workspace;
  if (gradients) {
    result.hidden_gradient = EmptyLike<float>(hidden, {n, width});
    result.weight_gradient = zeros({classes, width});
    if (inputs.bias.defined()) {
      bias_sums = zeros({stride});
      workspace = EmptyLike<float>(hidden, {cuda::ColumnSumsWorkspace(stride)});
    }
  }
  for (std::int64_t first = 0; first < n; first += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, n - first);
    const at::Tensor operand = hidden.narrow(0, first, rows);
    at::Tensor block = logits.narrow(0, 0, rows).narrow(1, 0, classes);
    at::mm_out(block, operand, weight.t());
    const cuda::CrossEntropyRows call = {.rows = rows,
                                         .classes = classes,
                                         .stride = stride,
                                         .bias = Data<float>(inputs.bias),
                                         .targets = Data<std::int64_t>(inputs.targets) + first,
                                         .label_smoothing = static_cast<float>(inputs.label_smoothing)};
    Check(cuda::CrossEntropy<Bf16>(call, Data<Bf16>(logits), Data<float>(losses) + first, nullptr, gradients,
                                   stream),
          "CrossEntropy");
    if (!gradients) continue;
    WideProductTo(result.hidden_gradient.narrow(0, first, rows), block, weight);
    AddProduct(result.weight_gradient, block.t(), operand);
    if (!inputs.bias.defined()) continue;
    Check(cuda::AddColumnSums<Bf16>(rows, stride, Data<Bf16>(logits), Data<float>(bias_sums),
                                    Data<float>(workspace), stream),
          "AddColumnSums");
  }
  if (bias_sums.defined()) result.bias_gradient = bias_sums.narrow(0, 0, classes);
  result.gradient_factor = inputs.targets.ge(0).sum().clamp_min(1).to(at::kFloat).reciprocal();
  result.loss = losses.sum() * result.gradient_factor;
  return result;
}

}  // namespace inlier::layer::gpu
