// Rounding of the operands of a training's products (training.low_precision), simulated in floating point.
//
// An operand is (rows, n), of a product that sums over its last axis, so that scales can be taken out of the sum: a scale
// covers everything, a row, a group of a row's entries or a tile of them, as in quantization (core/quant/part_grid.h).
//
// To the nearest it is RoundToPart. Stochastically (Gupta et al. 2015) x / s becomes one of its two neighbours in the format,
// the upper one with the probability of its distance from the lower one, so that the mean is x. What a format cannot hold is
// clipped first: nothing where scales come from a largest magnitude, but for the rounding of NVFP4's own scales. The scales
// of microscaling formats, which clip what is above `largest`, are therefore enlarged by the power of two above `largest`
// over it, 4/3 of E2M1 (Tseng et al. 2025, "Training LLMs with MXFP4", algorithm 2).
#ifndef INLIER_CORE_TRAIN_LOW_PRECISION_OPERAND_ROUNDING_H_
#define INLIER_CORE_TRAIN_LOW_PRECISION_OPERAND_ROUNDING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/quant/linear/linear_options.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

struct OperandRounding {
  LinearQuantizationOptions::Part part;  // Its group_rows may go with a format in blocks.
  bool stochastic = false;
};

// REQUIRES: `spec` is resolved and valid.
OperandRounding RoundingOf(const v1::LowPrecisionPartSpec& spec);

// `x` (rows, n) rounded: same shape and dtype. `seed` decides the draws where there are any, the same on each device of a
// kind and with any number of threads. REQUIRES: `x` has elements.
at::Tensor RoundOperand(const at::Tensor& x, const OperandRounding& rounding, std::uint64_t seed);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_LOW_PRECISION_OPERAND_ROUNDING_H_
