#include "core/quant/quantization_error.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/layer_cpu/parallel.h"

namespace inlier {
namespace {

struct Moments {
  double sum = 0;
  double squares = 0;
  double errors = 0;
  double largest = 0;
};

// In vectors of lanes, as wide as the instruction set allows; the order of the additions is fixed.
template <typename Real>
[[gnu::always_inline]] inline Moments MomentsLoop(const Real* exact, const Real* rounded, std::int64_t size) {
  constexpr int kLanes = 4;
  typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));
  typedef Real Loaded __attribute__((vector_size(kLanes * sizeof(Real))));
  Lanes sum = {}, squares = {}, errors = {}, largest = {};
  const auto* exact_bytes = reinterpret_cast<const unsigned char*>(exact);
  const auto* rounded_bytes = reinterpret_cast<const unsigned char*>(rounded);
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Loaded loaded, loaded_rounded;
    __builtin_memcpy(&loaded, exact_bytes + i * sizeof(Real), sizeof(Loaded));
    __builtin_memcpy(&loaded_rounded, rounded_bytes + i * sizeof(Real), sizeof(Loaded));
    const Lanes x = __builtin_convertvector(loaded, Lanes);
    const Lanes error = x - __builtin_convertvector(loaded_rounded, Lanes);
    const Lanes magnitude = x < 0 ? -x : x;
    sum += x;
    squares += x * x;
    errors += error * error;
    largest = magnitude > largest ? magnitude : largest;
  }
  Moments moments;
  for (int lane = 0; lane < kLanes; ++lane) {
    moments.sum += sum[lane];
    moments.squares += squares[lane];
    moments.errors += errors[lane];
    moments.largest = std::max(moments.largest, largest[lane]);
  }
  for (; i < size; ++i) {
    const double x = static_cast<double>(exact[i]), error = x - static_cast<double>(rounded[i]);
    moments.sum += x;
    moments.squares += x * x;
    moments.errors += error * error;
    moments.largest = std::max(moments.largest, std::abs(x));
  }
  return moments;
}

template <typename Real>
[[gnu::optimize("O3")]] Moments MomentsAnywhere(const Real* exact, const Real* rounded, std::int64_t size) {
  return MomentsLoop(exact, rounded, size);
}

#if defined(__x86_64__)
template <typename Real>
[[gnu::optimize("O3"), gnu::target("avx2")]] Moments MomentsWithAvx2(const Real* exact, const Real* rounded,
                                                                     std::int64_t size) {
  return MomentsLoop(exact, rounded, size);
}
#endif

// In parts of a fixed size, so that the result does not depend on the number of threads.
template <typename Real>
Moments MomentsOnCpu(const at::Tensor& exact, const at::Tensor& rounded) {
  auto* of_part = &MomentsAnywhere<Real>;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) of_part = &MomentsWithAvx2<Real>;
#endif
  const at::Tensor x = exact.contiguous(), q = rounded.contiguous();
  const Real* from = x.const_data_ptr<Real>();
  const Real* to = q.const_data_ptr<Real>();
  constexpr std::int64_t kGrain = 1 << 16;
  const std::int64_t numbers = x.numel();
  std::vector<Moments> parts((numbers + kGrain - 1) / kGrain);
  layer::cpu::ParallelFor(static_cast<std::int64_t>(parts.size()), [&](std::int64_t part) {
    const std::int64_t begin = part * kGrain;
    parts[part] = of_part(from + begin, to + begin, std::min(kGrain, numbers - begin));
  });
  Moments all;
  for (const Moments& part : parts) {
    all.sum += part.sum;
    all.squares += part.squares;
    all.errors += part.errors;
    all.largest = std::max(all.largest, part.largest);
  }
  return all;
}

// The padding of x as a tensor that broadcasts to it: of tokens, or of (B, H, T, T), the weights of queries and keys.
// Undefined for other shapes, such as the rows that a loss is taken of: none is padding.
at::Tensor HiddenElements(const TokenMask& mask, const at::Tensor& x) {
  const at::Tensor& padding = mask.padding;
  const std::int64_t batch = padding.size(0), tokens = padding.size(1);
  if (x.dim() == 4 && x.size(0) == batch && x.size(2) == tokens && x.size(3) == tokens)
    return padding.view({batch, 1, tokens, 1}).logical_or(padding.view({batch, 1, 1, tokens}));
  return IsOfTokens(mask, x) ? PaddingOf(mask, x) : at::Tensor();
}

// (3): of x, x^2 and (x - q(x))^2; and (): max |x|.
std::pair<at::Tensor, at::Tensor> SumsOf(const at::Tensor& exact, const at::Tensor& rounded) {
  const bool is_double = exact.scalar_type() == at::kDouble;
  if (exact.is_cpu() && exact.scalar_type() == rounded.scalar_type() &&
      (is_double || exact.scalar_type() == at::kFloat)) {
    const Moments moments =
        is_double ? MomentsOnCpu<double>(exact, rounded) : MomentsOnCpu<float>(exact, rounded);
    at::Tensor sums = at::empty({3}, at::kDouble);
    double* const data = sums.mutable_data_ptr<double>();
    data[0] = moments.sum;
    data[1] = moments.squares;
    data[2] = moments.errors;
    return {sums, at::scalar_tensor(moments.largest, at::kDouble)};
  }
  const auto squares = [](const at::Tensor& x) {
    return at::linalg_vector_norm(x, 2, std::nullopt, /*keepdim=*/false, at::kDouble).square();
  };
  return {at::stack({exact.sum(at::kDouble), squares(exact), squares(exact - rounded)}),
          exact.abs().amax().to(at::kDouble)};
}

}  // namespace

void QuantizationErrorRecorder::OnPass(const at::Tensor& attention_mask) {
  QuantizerTap::OnPass(attention_mask);
  if (!count_padding_) mask_ = MakeTokenMask(attention_mask);
}

at::Tensor QuantizationErrorRecorder::OnReplaced(const std::string& site, QuantizedPart part,
                                                 const at::Tensor& tensor, const at::Tensor& used) {
  const std::string name = QuantizedTensor(site, part);
  if (tensor.numel() == 0 || (part == QuantizedPart::kWeight && index_.contains(name))) return used;
  const std::optional<Rounding> rounding = quantization().RoundingOf(site, part, tensor, used);
  if (rounding) Add(name, part, rounding->exact, rounding->rounded);
  return used;
}

void QuantizationErrorRecorder::Add(const std::string& tensor, QuantizedPart part, const at::Tensor& exact,
                                    const at::Tensor& rounded) {
  const auto [found, is_new] = index_.try_emplace(tensor, sums_.size());
  if (is_new) sums_.push_back({.tensor = tensor, .sums = {}, .largest = {}});
  Sums& sums = sums_[found->second];
  const bool is_weight = part == QuantizedPart::kWeight;
  const c10::NoGradGuard no_grad;
  at::Tensor x = exact, q = rounded;
  at::Tensor count = at::full({1}, static_cast<double>(exact.numel()), exact.options().dtype(at::kDouble));
  const at::Tensor hidden =
      is_weight || !mask_.padding.defined() ? at::Tensor() : HiddenElements(mask_, exact);
  if (hidden.defined()) {
    x = exact.masked_fill(hidden, 0);  // Zeros add nothing but to the count.
    q = rounded.masked_fill(hidden, 0);
    count -= hidden.sum(at::kDouble).mul_(static_cast<double>(exact.numel() / hidden.numel()));
  }
  const auto [added, largest] = SumsOf(x, q);
  const at::Tensor all = at::cat({count, added});
  sums.sums = is_new ? all : sums.sums + all;
  sums.largest = is_new ? largest : at::maximum(sums.largest, largest);
}

std::vector<QuantizerError> QuantizationErrorRecorder::Report() const {
  std::vector<QuantizerError> report;
  for (const Sums& sums : sums_) {
    const at::Tensor numbers = sums.sums.to(at::kCPU);
    const double* const data = numbers.const_data_ptr<double>();
    const double count = data[0], mean = data[1] / count, signal = data[2], noise = data[3];
    const double variance = signal / count - mean * mean;
    QuantizerError error = {.tensor = sums.tensor, .sqnr_db = std::nullopt, .crest_factor = std::nullopt};
    if (noise != 0) error.sqnr_db = 10 * std::log10(signal / noise);
    // Below the error of the sums, a variance is none.
    if (!(variance <= 1e-12 * mean * mean))
      error.crest_factor = sums.largest.item<double>() / std::sqrt(variance);
    report.push_back(std::move(error));
  }
  return report;
}

}  // namespace inlier
