// Rounding to small floating-point numbers, and the scales that they are used with. Simulated: everything stays in float
// or double, and every number here is exact in both.
//
//   E4M3  1 sign, 4 exponent, 3 mantissa bits, bias 7: +-448, no infinity (Micikevicius et al. 2022, table 1)
//   E5M2  bias 15: +-57,344
//   E2M1  bias 1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives (OCP Microscaling Formats 1.0, table 5)
//   INT8  k / 64 for k from -127 to 127 (the same, 5.3.4; its -128 is left out, as it recommends, so that the format is symmetric)
//
//   FP8:    s = max|x| / largest of the slice, 1 where that is 0;  x' = s E(x / s)
//   MX…:    blocks of 32 along the last axis, s = 2^(floor(log2 max|x|) - floor(log2 largest)), within 2^-127 … 2^127, 1 where
//           max|x| is 0 (the same, 5.1 and 6.3); what is above the largest after the division becomes the largest
//   NVFP4:  blocks of 16, t = max|x| of the tensor / (448 * 6), 1 where that is 0;  s = t E4M3(max|x| of the block / 6 / t)
//           (NVIDIA 2025, "Pretraining Large Language Models with NVFP4"). A block whose s is 0 becomes 0.
//   x' = s E(x / s) with the elements of the format.  The last block of a row may be shorter.
//
// Divisions are true ones in x's own precision; half and bfloat16 tensors are rounded in float. What shares a scale with NaN
// or infinity becomes NaN. No call waits for the device.
#ifndef INLIER_CORE_QUANT_NUMBER_FORMAT_H_
#define INLIER_CORE_QUANT_NUMBER_FORMAT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

struct FloatFormat {
  int mantissa_bits;
  int smallest_exponent;  // Of a number that is not subnormal.
  double largest;
};

inline constexpr FloatFormat kE4M3 = {3, -6, 448};
inline constexpr FloatFormat kE5M2 = {2, -14, 57344};
inline constexpr FloatFormat kE2M1 = {1, 0, 6};
inline constexpr FloatFormat kInt8 = {6, 0, 127.0 / 64};  // Below 2, so that all are subnormal.

// Of one element. REQUIRES: `format` is not INTEGER.
const FloatFormat& ElementFormat(v1::NumberFormat format);

// Each x to the nearest number of the format, ties to the one whose last bit is 0; what is larger than the largest becomes
// it, and NaN stays. Same shape and dtype, but half and bfloat16 become float. With `draws`, of x's shape and uniform in
// [0, 1), to one of the two neighbours by chance, as RoundByDraws.
at::Tensor RoundToFloat(const at::Tensor& x, const FloatFormat& format, const at::Tensor& draws = {});

// Stochastic rounding to integers: floor(x), or one more where the fraction of x is above the draw, so that the mean is x.
at::Tensor RoundByDraws(const at::Tensor& x, const at::Tensor& draws);

// The scale of slices whose largest magnitudes are `largest`: FP8 above.
at::Tensor ScaleOfLargest(const at::Tensor& largest, const FloatFormat& format);

// The scales of the blocks of x (…, n): (…, ceil(n / size of a block)), the same for `group_rows` indices of the axis before
// the last one, as GroupMaxima. REQUIRES: a format in blocks; n >= 1.
at::Tensor BlockScales(const at::Tensor& x, v1::NumberFormat format, std::int64_t group_rows = 1);

// x' above: same shape, dtype and device as x; `draws` as of RoundToFloat. REQUIRES: the scales broadcast to x.
at::Tensor RoundWithScale(const at::Tensor& x, const at::Tensor& scale, const FloatFormat& format,
                          const at::Tensor& draws = {});

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_NUMBER_FORMAT_H_
