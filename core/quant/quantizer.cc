#include "core/quant/quantizer.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "core/layer_cpu/parallel.h"

namespace inlier {
namespace {

constexpr double kSmallest = 1e-8;  // Of the upper end, and of the scale.

template <typename Real>
void FillGrid(const ValueRange& range, int bits, bool symmetric, QuantizationGrid& grid) {
  const double levels = static_cast<double>((std::int64_t{1} << bits) - 1);
  const double signed_levels = static_cast<double>((std::int64_t{1} << (bits - 1)) - 1);
  grid.is_signed = symmetric && std::any_of(range.minimum.begin(), range.minimum.end(),
                                            [](double low) { return low < 0; });
  grid.integer_min = grid.is_signed ? -signed_levels - 1 : 0;
  grid.integer_max = grid.is_signed ? signed_levels : levels;
  for (std::size_t i = 0; i < range.minimum.size(); ++i) {
    // std::min and std::max return their first argument where it is NaN.
    const Real low = std::min(static_cast<Real>(range.minimum[i]), Real{0});
    const Real high = std::max(static_cast<Real>(range.maximum[i]), static_cast<Real>(kSmallest));
    const Real width = symmetric ? std::max(high, -low) : high - low;
    const Real step = width / static_cast<Real>(grid.is_signed ? signed_levels : levels);
    const Real zero_point =
        symmetric ? Real{0} : std::clamp(std::nearbyint(-low / step), Real{0}, static_cast<Real>(levels));
    grid.scale.push_back(std::max(step, static_cast<Real>(kSmallest)));
    grid.zero_point.push_back(zero_point);
  }
}

// to[i] = scale * round(clamp(from[i] / scale, low, high)) for integers low and high below 2^20: the formula
// of the header with the zero point moved into the bounds, which gives the same number because bounds and
// zero point are integers and rounding is monotone. Adding and subtracting 1.5 * 2^(mantissa bits) rounds
// half to even, in every instruction set.
template <typename Real>
[[gnu::always_inline]] inline void RoundLoop(const Real* from, Real* to, std::int64_t size, Real scale,
                                             Real low, Real high) {
  constexpr Real kRounder = sizeof(Real) == 4 ? Real(12582912.0) : Real(6755399441055744.0);
  for (std::int64_t i = 0; i < size; ++i) {
    Real value = from[i] / scale;
    value = value < low ? low : value;
    value = value > high ? high : value;
    value = (value + kRounder) - kRounder;
    to[i] = value * scale;
  }
}

template <typename Real>
[[gnu::optimize("O3")]] void RoundAnywhere(const Real* from, Real* to, std::int64_t size, Real scale,
                                           Real low, Real high) {
  RoundLoop(from, to, size, scale, low, high);
}

#if defined(__x86_64__)
template <typename Real>
[[gnu::optimize("O3"), gnu::target("avx2")]] void RoundWithAvx2(const Real* from, Real* to, std::int64_t size,
                                                                Real scale, Real low, Real high) {
  RoundLoop(from, to, size, scale, low, high);
}
#endif

// One pass over memory in place of the six of ApplyInSteps.
template <typename Real>
at::Tensor RoundOnCpu(const at::Tensor& x, const QuantizationGrid& grid) {
  auto* round = &RoundAnywhere<Real>;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) round = &RoundWithAvx2<Real>;
#endif
  const Real scale = static_cast<Real>(grid.scale[0]);
  const Real low = static_cast<Real>(grid.integer_min - grid.zero_point[0]);
  const Real high = static_cast<Real>(grid.integer_max - grid.zero_point[0]);
  const at::Tensor input = x.contiguous();
  at::Tensor result = at::empty_like(input);
  const Real* from = input.const_data_ptr<Real>();
  Real* to = result.mutable_data_ptr<Real>();
  constexpr std::int64_t kGrain = 1 << 16;
  const std::int64_t numbers = input.numel();
  layer::cpu::ParallelFor((numbers + kGrain - 1) / kGrain, [&](std::int64_t part) {
    const std::int64_t begin = part * kGrain;
    round(from + begin, to + begin, std::min(kGrain, numbers - begin), scale, low, high);
  });
  return result;
}

}  // namespace

std::vector<double> ToDoubles(const at::Tensor& x) {
  const at::Tensor values = x.to(at::kCPU, at::kDouble).contiguous();
  const double* data = values.const_data_ptr<double>();
  return std::vector<double>(data, data + values.numel());
}

QuantizationGrid MakeGrid(const ValueRange& range, int bits, bool symmetric) {
  INLIER_CHECK(bits >= 2 && bits <= 16);
  INLIER_CHECK(!range.minimum.empty() && range.minimum.size() == range.maximum.size());
  QuantizationGrid grid;
  if (range.single_precision) {
    FillGrid<float>(range, bits, symmetric, grid);
  } else {
    FillGrid<double>(range, bits, symmetric, grid);
  }
  return grid;
}

Quantizer::Quantizer(int bits, bool symmetric) : bits_(bits), symmetric_(symmetric) {
  INLIER_CHECK(bits >= 2 && bits <= 16);
}

void Quantizer::SetRange(const ValueRange& range) {
  grid_ = MakeGrid(range, bits_, symmetric_);
  range_ = range;
  scale_ = at::Tensor();
  zero_point_ = at::Tensor();
}

at::Tensor Quantizer::Apply(const at::Tensor& x) const {
  INLIER_CHECK(has_range());
  if (x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf) {
    return Apply(x.to(at::kFloat)).to(x.scalar_type());
  }
  if (x.is_cpu() && grid_.scale.size() == 1) {
    return x.scalar_type() == at::kDouble ? RoundOnCpu<double>(x, grid_) : RoundOnCpu<float>(x, grid_);
  }
  return ApplyInSteps(x);
}

at::Tensor Quantizer::ApplyInSteps(const at::Tensor& x) const {
  const std::int64_t channels = static_cast<std::int64_t>(grid_.scale.size());
  INLIER_CHECK(channels == 1 || (x.dim() > 0 && x.size(0) == channels));
  if (!scale_.defined() || scale_.device() != x.device() || scale_.scalar_type() != x.scalar_type() ||
      (channels > 1 && scale_.dim() != x.dim())) {
    // Tensors on x's device: on a GPU, a division by a number held by the CPU would become a multiplication
    // by its inverse.
    std::vector<std::int64_t> shape;
    if (channels > 1) {
      shape.assign(x.dim(), 1);
      shape[0] = channels;
    }
    const auto on_device = [&](const std::vector<double>& values) {
      return at::tensor(values, at::kDouble).reshape(shape).to(x.device(), x.scalar_type());
    };
    scale_ = on_device(grid_.scale);
    zero_point_ = on_device(grid_.zero_point);
  }
  return x.div(scale_)
      .round_()
      .add_(zero_point_)
      .clamp_(grid_.integer_min, grid_.integer_max)
      .sub_(zero_point_)
      .mul_(scale_);
}

}  // namespace inlier
