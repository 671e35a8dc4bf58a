#include "core/quant/number_format.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "base/check.h"
#include "core/nn/precision.h"
#include "core/quant/slice_grid.h"
#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

// The largest power of two that is at most |x|: x without sign and mantissa. 0 of 0 and of subnormal numbers, infinity of
// NaN and infinity.
at::Tensor PowerOfTwoBelow(const at::Tensor& x) {
  if (x.scalar_type() == at::kDouble)
    return x.view(at::kLong).bitwise_and(std::int64_t{0x7ff} << 52).view(at::kDouble);
  return x.view(at::kInt).bitwise_and(0x7f800000).view(at::kFloat);
}

// On a GPU, a division by a number held by the CPU would become a multiplication by its inverse.
at::Tensor DivideExactly(const at::Tensor& x, double divisor) { return x.div(at::full_like(x, divisor)); }

at::Tensor MxScales(const at::Tensor& maxima, const FloatFormat& element) {
  const at::Tensor scale = PowerOfTwoBelow(maxima)
                               .mul_(std::ldexp(1.0, -std::ilogb(element.largest)))
                               .clamp_(std::ldexp(1.0, -127), std::ldexp(1.0, 127));
  // Not a number where the block has NaN or infinity, which the clamp would hide.
  return at::where(maxima.eq(0), at::full_like(maxima, 1), scale + (maxima - maxima));
}

at::Tensor NvScales(const at::Tensor& maxima) {
  const at::Tensor of_tensor = ScaleOfLargest(maxima.amax(), {0, 0, kE4M3.largest * kE2M1.largest});
  return RoundToFloat(DivideExactly(maxima, kE2M1.largest).div(of_tensor), kE4M3).mul_(of_tensor);
}

}  // namespace

const FloatFormat& ElementFormat(v1::NumberFormat format) {
  switch (format) {
    case v1::FP8_E4M3:
    case v1::MXFP8_E4M3:
      return kE4M3;
    case v1::FP8_E5M2:
    case v1::MXFP8_E5M2:
      return kE5M2;
    case v1::MXINT8:
      return kInt8;
    case v1::MXFP4:
    case v1::NVFP4:
      return kE2M1;
    case v1::INTEGER:
      break;
  }
  INLIER_CHECK(false && "integers have no format of floating-point numbers");
}

at::Tensor RoundToFloat(const at::Tensor& x, const FloatFormat& format, const at::Tensor& draws) {
  const at::Tensor values = AtLeastFloat32(x).clamp(-format.largest, format.largest);
  const at::Tensor quantum = PowerOfTwoBelow(values)
                                 .clamp_min_(std::ldexp(1.0, format.smallest_exponent))
                                 .mul_(std::ldexp(1.0, -format.mantissa_bits));
  const at::Tensor quotient = values.div(quantum);
  return (draws.defined() ? RoundByDraws(quotient, draws) : quotient.round()).mul_(quantum);
}

at::Tensor RoundByDraws(const at::Tensor& x, const at::Tensor& draws) {
  const at::Tensor below = x.floor();
  return below.add((x - below).gt(draws));
}

at::Tensor ScaleOfLargest(const at::Tensor& largest, const FloatFormat& format) {
  at::Tensor scale = DivideExactly(AtLeastFloat32(largest), format.largest);
  return scale.masked_fill_(scale.eq(0), 1);
}

at::Tensor BlockScales(const at::Tensor& x, v1::NumberFormat format, std::int64_t group_rows) {
  const std::int64_t size = BlockSizeOf(format);
  INLIER_CHECK(size > 0 && x.dim() >= 1 && x.size(-1) >= 1);
  const at::Tensor maxima = GroupMaxima(AtLeastFloat32(x), size, group_rows);
  return format == v1::NVFP4 ? NvScales(maxima) : MxScales(maxima, ElementFormat(format));
}

at::Tensor RoundWithScale(const at::Tensor& x, const at::Tensor& scale, const FloatFormat& format,
                          const at::Tensor& draws) {
  const at::Tensor divisor = scale.masked_fill(scale.eq(0), 1);
  return RoundToFloat(AtLeastFloat32(x).div(divisor), format, draws).mul_(scale).to(x.scalar_type());
}

}  // namespace inlier
