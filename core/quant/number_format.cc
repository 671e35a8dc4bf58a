#include "core/quant/number_format.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "base/check.h"
#include "core/nn/precision.h"
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

// max |x| of each block of the last axis.
at::Tensor BlockMaxima(const at::Tensor& x, std::int64_t size) {
  const std::int64_t missing = (size - x.size(-1) % size) % size;
  const at::Tensor padded = at::constant_pad_nd(x.abs(), {0, missing}, 0);
  return padded.unflatten(-1, {padded.size(-1) / size, size}).amax(-1);
}

at::Tensor MxScales(const at::Tensor& maxima) {
  constexpr int kLargestExponent = 2;  // Of E2M1.
  const at::Tensor scale = PowerOfTwoBelow(maxima)
                               .mul_(std::ldexp(1.0, -kLargestExponent))
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
      return kE4M3;
    case v1::FP8_E5M2:
      return kE5M2;
    case v1::MXFP4:
    case v1::NVFP4:
      return kE2M1;
    case v1::INTEGER:
      break;
  }
  INLIER_CHECK(false && "integers have no format of floating-point numbers");
}

at::Tensor RoundToFloat(const at::Tensor& x, const FloatFormat& format) {
  const at::Tensor values = AtLeastFloat32(x).clamp(-format.largest, format.largest);
  const at::Tensor quantum = PowerOfTwoBelow(values)
                                 .clamp_min_(std::ldexp(1.0, format.smallest_exponent))
                                 .mul_(std::ldexp(1.0, -format.mantissa_bits));
  return values.div(quantum).round_().mul_(quantum);
}

at::Tensor ScaleOfLargest(const at::Tensor& largest, const FloatFormat& format) {
  at::Tensor scale = DivideExactly(AtLeastFloat32(largest), format.largest);
  return scale.masked_fill_(scale.eq(0), 1);
}

at::Tensor BlockScales(const at::Tensor& x, v1::NumberFormat format) {
  const std::int64_t size = BlockSizeOf(format);
  INLIER_CHECK(size > 0 && x.dim() >= 1 && x.size(-1) >= 1);
  const at::Tensor maxima = BlockMaxima(AtLeastFloat32(x), size);
  return format == v1::MXFP4 ? MxScales(maxima) : NvScales(maxima);
}

at::Tensor RoundWithScale(const at::Tensor& x, const at::Tensor& scale, const FloatFormat& format) {
  const at::Tensor divisor = scale.masked_fill(scale.eq(0), 1);
  return RoundToFloat(AtLeastFloat32(x).div(divisor), format).mul_(scale).to(x.scalar_type());
}

}  // namespace inlier
