#include "core/quant/quantization_error.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/fused/parallel.h"

namespace inlier {
namespace {

struct Moments {
  double sum = 0;
  double squares = 0;
  double errors = 0;
  double largest = 0;
};

// In lanes, so that the compiler can keep them in vector registers; the order of the additions is fixed.
template <typename Real>
[[gnu::always_inline]] inline Moments MomentsLoop(const Real* exact, const Real* rounded, std::int64_t size) {
  constexpr int kLanes = 8;
  double sum[kLanes] = {}, squares[kLanes] = {}, errors[kLanes] = {}, largest[kLanes] = {};
  const auto add = [&](int lane, std::int64_t i) {
    const double x = static_cast<double>(exact[i]), error = x - static_cast<double>(rounded[i]);
    const double magnitude = std::abs(x);
    sum[lane] += x;
    squares[lane] += x * x;
    errors[lane] += error * error;
    largest[lane] = magnitude > largest[lane] ? magnitude : largest[lane];
  };
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) add(lane, i + lane);
  }
  for (int lane = 0; i < size; ++i, ++lane) add(lane, i);
  Moments moments;
  for (int lane = 0; lane < kLanes; ++lane) {
    moments.sum += sum[lane];
    moments.squares += squares[lane];
    moments.errors += errors[lane];
    moments.largest = std::max(moments.largest, largest[lane]);
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
  fused::ParallelFor(static_cast<std::int64_t>(parts.size()), [&](std::int64_t part) {
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

// (3) and (), as QuantizationErrorRecorder::Sums has them.
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

at::Tensor QuantizationErrorRecorder::OnRounded(const std::string& tensor, QuantizedPart part,
                                                const at::Tensor& exact, const at::Tensor& rounded) {
  if (exact.numel() == 0) return rounded;
  const auto [found, is_new] = index_.try_emplace(tensor, sums_.size());
  if (is_new) sums_.push_back({.tensor = tensor, .sums = {}, .largest = {}});
  Sums& sums = sums_[found->second];
  if (!is_new && part == QuantizedPart::kWeight) return rounded;
  const c10::NoGradGuard no_grad;
  const auto [added, largest] = SumsOf(exact, rounded);
  sums.count += exact.numel();
  sums.sums = is_new ? added : sums.sums + added;
  sums.largest = is_new ? largest : at::maximum(sums.largest, largest);
  return rounded;
}

std::vector<QuantizerError> QuantizationErrorRecorder::Report() const {
  std::vector<QuantizerError> report;
  for (const Sums& sums : sums_) {
    const at::Tensor numbers = sums.sums.to(at::kCPU);
    const double* const data = numbers.const_data_ptr<double>();
    const double mean = data[0] / static_cast<double>(sums.count);
    const double signal = data[1], noise = data[2];
    const double variance = signal / static_cast<double>(sums.count) - mean * mean;
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
