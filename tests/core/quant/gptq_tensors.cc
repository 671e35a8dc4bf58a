// The factors of smoothing, the input's second moments and the weight rounded with error correction, of one linear:
//   gptq_tensors SPEC.json IN.safetensors OUT.safetensors …
// SPEC is a QuantizationSpec of absmax or zeropoint with weights, smoothing and gptq. IN has `weight` and `other_weight`
// (out, in), `input` (B, T, in) and `mask` (B, T), OUT `factors`, `moments` and `rounded`: of `weight` on the grids of its
// rows or groups, without smoothing.
#include "core/quant/gptq.h"
#include "core/quant/slice_grid.h"
#include "core/quant/smoothing.h"
#include "tests/core/quant/tensor_program.h"

namespace inlier {
namespace {

// A scale for each row and column.
SliceGrid GridOf(const at::Tensor& weight, const v1::QuantizationSpec& spec) {
  const int bits = static_cast<int>(spec.weights().bits());
  const std::int64_t channels = weight.size(1);
  const std::int64_t size = spec.weights().has_group_size() ? spec.weights().group_size() : channels;
  return ExpandGroups(
      spec.has_absmax() ? AbsmaxGroupGrid(weight, bits, size) : ZeropointGroupGrid(weight, bits, size), size,
      channels);
}

at::Tensor RoundColumn(const at::Tensor& column, const SliceGrid& grid, std::int64_t index) {
  SliceGrid of_column = grid;
  of_column.scale = grid.scale.select(1, index);
  if (grid.zero_point.defined()) of_column.zero_point = grid.zero_point.select(1, index);
  return RoundToGrid(column, of_column);
}

absl::StatusOr<TensorMap> Compute(const v1::QuantizationSpec& spec, const TensorMap& tensors) {
  const at::Tensor weight = tensors.at("weight"), input = tensors.at("input"), mask = tensors.at("mask");

  const at::Tensor factors = SmoothingFactors(input.abs().amax({0, 1}), {weight, tensors.at("other_weight")},
                                              spec.smoothing().alpha());
  InputMoments moments;
  for (std::int64_t sequence = 0; sequence < input.size(0); ++sequence) {
    moments.Add(input.slice(0, sequence, sequence + 1), mask.slice(0, sequence, sequence + 1));
  }
  SliceGrid grid = GridOf(weight, spec);
  std::int64_t first = 0;
  const auto round = [&](const at::Tensor& column, std::int64_t index) {
    return RoundColumn(column, grid, index - first);
  };
  GptqGroups groups;
  if (spec.gptq().dynamic_groups()) {
    groups = {.size = spec.weights().group_size(),
              .begin = [&](const at::Tensor& of_group, std::int64_t channel) {
                grid = GridOf(of_group.to(weight.scalar_type()), spec);
                first = channel;
              }};
  }
  const GptqOptions options = {.damping = spec.gptq().damping(), .by_size = spec.gptq().by_size()};
  ASSIGN_OR_RETURN(const at::Tensor rounded, GptqRound(weight, moments.matrix(), options, round, groups));
  return TensorMap{{"factors", factors}, {"moments", moments.matrix()}, {"rounded", rounded}};
}

}  // namespace
}  // namespace inlier

int main(int count, char** arguments) { return inlier::RunTensorProgram(count, arguments, inlier::Compute); }
