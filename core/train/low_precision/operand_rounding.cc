#include "core/train/low_precision/operand_rounding.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>

#include <cmath>
#include <mutex>

#include "core/nn/precision.h"
#include "core/quant/number_format.h"
#include "core/quant/part_grid.h"
#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

PartGrid GridOfOperand(const at::Tensor& x, const OperandRounding& rounding) {
  const LinearQuantizationOptions::Part& part = rounding.part;
  const std::int64_t block = BlockSizeOf(part.format);
  if (block == 0) return GridOfPart(x, part, LinearQuantizationOptions::Grid::kAbsmax);
  PartGrid grid{.slices = {.scale = BlockScales(x, part.format, part.group_rows), .zero_point = {}},
                .format = part.format,
                .group_size = block};
  if (rounding.stochastic && part.format != v1::NVFP4) {
    const double largest = ElementFormat(part.format).largest;
    grid.slices.scale.mul_(std::ldexp(1.0, std::ilogb(largest) + 1) / largest);
  }
  return grid;
}

// Uniform in [0, 1), of the shape of `x`. The generator is one of its own: the device's stays as it is.
at::Tensor DrawsFor(const at::Tensor& x, std::uint64_t seed) {
  at::Generator of_device = at::globalContext().defaultGenerator(x.device());
  at::Generator generator;
  {
    const std::scoped_lock lock(of_device.mutex());
    generator = of_device.clone();
  }
  generator.set_current_seed(seed);
  return at::rand(x.sizes(), generator, x.options().requires_grad(false));
}

at::Tensor RoundByChance(const at::Tensor& x, const PartGrid& grid, std::uint64_t seed) {
  const at::Tensor values = AtLeastFloat32(x);
  const SliceGrid slices = WithoutGroups(grid, x.size(-1)).slices;
  const at::Tensor draws = DrawsFor(values, seed);
  const at::Tensor rounded = grid.format == v1::INTEGER
                                 ? RoundByDraws(values.div(slices.scale), draws)
                                       .clamp_(slices.integer_min, slices.integer_max)
                                       .mul_(slices.scale)
                                 : RoundWithScale(values, slices.scale, ElementFormat(grid.format), draws);
  return rounded.to(x.scalar_type());
}

}  // namespace

OperandRounding RoundingOf(const v1::LowPrecisionPartSpec& spec) {
  const ScaleScope scope = spec.scale_axis() == v1::TOKEN ? ScaleScope::kRow : ScaleScope::kTensor;
  return {.part = {.bits = static_cast<int>(spec.bits()),
                   .scope = scope,
                   .group_size = spec.group_size(),
                   .group_rows = spec.has_group_rows() ? spec.group_rows() : 1,
                   .format = spec.format()},
          .stochastic = spec.stochastic_rounding()};
}

at::Tensor RoundOperand(const at::Tensor& x, const OperandRounding& rounding, std::uint64_t seed) {
  const PartGrid grid = GridOfOperand(x, rounding);
  return rounding.stochastic ? RoundByChance(x, grid, seed) : RoundToPart(x, grid);
}

}  // namespace inlier
