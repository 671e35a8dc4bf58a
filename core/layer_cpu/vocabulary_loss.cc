#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <vector>

#include "core/kernels/cross_entropy.h"
#include "core/layer_cpu/layer.h"
#include "core/layer_cpu/layer_parts.h"
#include "core/layer_cpu/matmul.h"
#include "core/layer_cpu/parallel.h"
#include "core/layer_cpu/profile.h"

namespace inlier::layer::cpu {
namespace {

constexpr std::int64_t kBlockRows = 64;    // Of one item.
constexpr std::int64_t kGroupRows = 1024;  // Rows whose logits' gradients are kept at a time; whole blocks.
constexpr std::int64_t kClassesAtOnce = 512;  // Of a product over the classes; even.

std::int64_t CountTargets(const at::Tensor& targets, std::int64_t classes) {
  std::int64_t count = 0;
  const std::int64_t* const target = targets.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < targets.numel(); ++i) {
    TORCH_CHECK(target[i] < classes, "target ", target[i], " at position ", i,
                " is not below the vocabulary's size, ", classes);
    count += target[i] >= 0;
  }
  return count;
}

// Rows of the weight in parts of kClassesAtOnce, each a right side (part, d): for hidden's gradient.
template <typename T>
at::Tensor PackClasses(const at::Tensor& weight) {
  const std::int64_t classes = weight.size(0), width = weight.size(1);
  at::Tensor packed = EmptyLike<T>(weight, {PackedSize<T>(classes, width)});
  T* const out = Data<T>(packed);
  const Real<T>* const source = Data<Real<T>>(weight);
  ParallelFor((classes + kClassesAtOnce - 1) / kClassesAtOnce, [&](std::int64_t part) {
    const std::int64_t first = part * kClassesAtOnce;
    PackRows(source + first * width, width, std::min(kClassesAtOnce, classes - first), width,
             out + first * width);
  });
  return packed;
}

// As operands of products: rounded, with rows that are padded as a left side needs.
template <typename T>
at::Tensor Operand(const at::Tensor& hidden) {
  if constexpr (std::is_same_v<T, Bf16>) {
    const at::Tensor rounded = hidden.to(at::kBFloat16);
    return hidden.size(1) % 2 == 0 ? rounded : at::constant_pad_nd(rounded, {0, 1});
  } else {
    return hidden;
  }
}

template <typename T>
VocabularyResult Compute(const VocabularyInputs& inputs, bool gradients) {
  INLIER_PROFILE("vocabulary's loss");
  using R = Real<T>;
  const std::int64_t n = inputs.hidden.size(0), width = inputs.hidden.size(1),
                     classes = inputs.weight.size(0);
  const std::int64_t blocks = (n + kBlockRows - 1) / kBlockRows, stride = PaddedDepth<T>(classes);
  const bool bias_gradients = gradients && inputs.bias.defined();
  const std::int64_t count = std::max<std::int64_t>(CountTargets(inputs.targets, classes), 1);
  const at::Tensor operand = Operand<T>(inputs.hidden);
  const T* const hidden = Data<T>(operand);
  const std::int64_t hidden_stride = operand.size(1);
  const at::Tensor forward = PackMatrix<T>(inputs.weight, /*transposed=*/true);
  VocabularyResult result;
  at::Tensor backward, kept;
  if (gradients) {
    backward = PackClasses<T>(inputs.weight);
    kept = EmptyLike<T>(inputs.hidden, {std::min(n, kGroupRows), stride});
    result.hidden_gradient = EmptyLike<R>(inputs.hidden, {n, width});
    result.weight_gradient =
        n == 0 ? at::zeros_like(inputs.weight) : EmptyLike<R>(inputs.hidden, {classes, width});
  }
  std::vector<double> losses(blocks);
  const at::Tensor bias_parts =
      bias_gradients ? at::zeros({blocks, classes}, inputs.hidden.options()) : at::Tensor();

  const auto block_of = [&](std::int64_t block, T* logit_gradients) {
    const std::int64_t first = block * kBlockRows, rows = std::min(kBlockRows, n - first);
    R* logits = nullptr;
    if constexpr (std::is_same_v<T, R>) logits = logit_gradients;
    if (logits == nullptr)
      logits = reinterpret_cast<R*>(Scratch(ScratchSlot::kHead, sizeof(R) * kBlockRows * stride));
    Multiply(rows, classes, width, hidden + first * hidden_stride, hidden_stride, Data<T>(forward), logits,
             stride,
             /*add=*/false);
    const kernels::CrossEntropyRows<T> shape{.rows = rows,
                                             .classes = classes,
                                             .bias = Data<R>(inputs.bias),
                                             .targets = inputs.targets.const_data_ptr<std::int64_t>() + first,
                                             .label_smoothing = inputs.label_smoothing,
                                             .gradient_scale = 1 / static_cast<double>(count)};
    losses[block] = kernels::CrossEntropy<T>(shape, logits, stride, logit_gradients, stride,
                                             PartOf<R>(bias_parts, block));
    if (logit_gradients == nullptr) return;
    if (stride > classes) {
      for (std::int64_t row = 0; row < rows; ++row) logit_gradients[row * stride + classes] = T{};
    }
    for (std::int64_t part = 0; part < classes; part += kClassesAtOnce) {
      Multiply(rows, width, std::min(kClassesAtOnce, classes - part), logit_gradients + part, stride,
               Data<T>(backward) + part * width, Data<R>(result.hidden_gradient) + first * width, width,
               /*add=*/part > 0);
    }
  };

  for (std::int64_t first = 0; first < n; first += kGroupRows) {
    const std::int64_t rows = std::min(kGroupRows, n - first);
    ParallelFor((rows + kBlockRows - 1) / kBlockRows, [&](std::int64_t block) {
      block_of(first / kBlockRows + block, gradients ? Data<T>(kept) + block * kBlockRows * stride : nullptr);
    });
    if (!gradients) continue;
    ProductOverRows(rows, Data<T>(kept), stride, classes, hidden + first * hidden_stride, hidden_stride,
                    width, Data<R>(result.weight_gradient), width, /*add=*/first > 0);
  }
  if (bias_gradients) result.bias_gradient = SumOfParts<R>(bias_parts);
  double loss = 0;
  for (const double part : losses) loss += part;
  result.loss = at::full({}, loss / static_cast<double>(count), inputs.hidden.options());
  return result;
}

}  // namespace

VocabularyResult ComputeVocabularyLoss(const VocabularyInputs& inputs, Products products, bool gradients) {
  return WithOperands(inputs.hidden, products, [&]<typename T>() { return Compute<T>(inputs, gradients); });
}

}  // namespace inlier::layer::cpu
