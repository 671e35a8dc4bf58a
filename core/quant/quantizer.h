// Simulated uniform quantization: a tensor is rounded to an integer grid and converted back, so that
// everything stays in floating point. The formulas are those of the reference code (Bondarenko et al. 2023),
// equal to the last bit:
//
//   lo = min(x_min, 0), hi = max(x_max, 1e-8)
//   asymmetric:  d = (hi - lo) / (2^b - 1);  scale = max(d, 1e-8);  z = clamp(round(-lo / d), 0, 2^b - 1);
//                integers 0 .. 2^b - 1
//   symmetric:   m = max(|lo|, hi);  signed where any lo < 0: d = m / (2^(b-1) - 1),
//                integers -2^(b-1) .. 2^(b-1) - 1;
//                else unsigned: d = m / (2^b - 1), integers 0 .. 2^b - 1;  scale = max(d, 1e-8);  z = 0
//   q(x) = scale * (clamp(round(x / scale) + z, integers) - z)
//
// round is half to even; x / scale is a true division (ties are common, and a multiplication by 1 / scale
// breaks them differently). The grid is computed in the precision of the range: float for a float tensor's
// extremes, double for percentiles.
//
// Thread safety: const methods may run at the same time, except the first Apply for a dtype and device, which
// fills a cache.
#ifndef INLIER_CORE_QUANT_QUANTIZER_H_
#define INLIER_CORE_QUANT_QUANTIZER_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace inlier {

// Ends of the range to represent: one entry a tensor, or one for each slice of its first axis.
struct ValueRange {
  std::vector<double> minimum;
  std::vector<double> maximum;
  bool single_precision = false;  // The ends are float, and the grid is computed in float.

  bool per_channel() const { return minimum.size() > 1; }
};

// The grid of a range. scale and zero_point have as many entries as the range; the zero point of a symmetric
// grid is 0.
struct QuantizationGrid {
  std::vector<double> scale;
  std::vector<double> zero_point;
  double integer_min = 0;
  double integer_max = 0;
  bool is_signed = false;  // Integers below 0 are used (asymmetric: never).
};

// The elements of `x` in the order of its rows.
std::vector<double> ToDoubles(const at::Tensor& x);

// An end that is NaN or infinite gives a grid that turns everything into NaN.
// REQUIRES: 2 <= bits <= 16; the range's ends are of equal number, at least one.
QuantizationGrid MakeGrid(const ValueRange& range, int bits, bool symmetric);

class Quantizer {
 public:
  // REQUIRES: 2 <= bits <= 16.
  Quantizer(int bits, bool symmetric);

  int bits() const { return bits_; }
  bool symmetric() const { return symmetric_; }

  void SetRange(const ValueRange& range);

  bool has_range() const { return !grid_.scale.empty(); }
  const ValueRange& range() const { return range_; }
  const QuantizationGrid& grid() const { return grid_; }

  // `x` rounded to the grid: same shape, dtype and device. With several channels the first axis of `x` has
  // one slice a channel. Not differentiable; call it without recording gradients. bfloat16 and half tensors
  // are rounded in float. REQUIRES: has_range().
  at::Tensor Apply(const at::Tensor& x) const;

 private:
  at::Tensor ApplyInSteps(const at::Tensor& x) const;

  int bits_;
  bool symmetric_;
  ValueRange range_;
  QuantizationGrid grid_;
  mutable at::Tensor scale_;  // Of the grid, on the device and in the dtype of the last tensor.
  mutable at::Tensor zero_point_;
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_QUANTIZER_H_
