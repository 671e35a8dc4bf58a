#include "core/optim/draw_rotations.h"

#include <ATen/ops/stack.h>

#include <bit>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random_stream.h"
#include "core/optim/orthogonal_matrix.h"
#include "core/optim/weight_axes.h"

namespace inlier {
namespace {

// Partition of an axis along the diagonal: `count` blocks of `size`, then one of `rest` (0: none).
struct Cut {
  std::int64_t count, size, rest;
};

Cut CutOf(std::int64_t length, std::int64_t block) {
  if (block == 0 || block >= length) return {.count = 1, .size = length, .rest = 0};
  return {.count = length / block, .size = block, .rest = length % block};
}

// The rotated axes of one parameter.
std::vector<std::int64_t> RotatedAxes(const v1::OrthoAdamSpec& spec, const NamedParameter& parameter) {
  const auto& [name, tensor] = parameter;
  std::vector<std::int64_t> rotated;
  const bool of_residual = spec.side() == v1::OrthoAdamSpec::RESIDUAL;
  if (tensor.dim() < 2 || (tensor.dim() > 2 && !of_residual)) return rotated;
  const auto consider = [&](std::int64_t axis) {
    const std::int64_t length = tensor.size(axis);
    const bool too_long = CutOf(length, spec.block()).count == 1 && length > std::int64_t{spec.max_size()};
    if (length >= 2 && !too_long) rotated.push_back(axis);
  };
  const WeightAxes axes = AxesOf(name);
  switch (spec.side()) {
    case v1::OrthoAdamSpec::RESIDUAL:
      if (axes.residual) consider(*axes.residual);
      break;
    case v1::OrthoAdamSpec::OUT:
      if (axes.output) consider(*axes.output);
      break;
    case v1::OrthoAdamSpec::IN:
      consider(axes.input);
      break;
    case v1::OrthoAdamSpec::BOTH:
      if (axes.output) consider(*axes.output);
      consider(axes.input);
      break;
  }
  return rotated;
}

at::Tensor DrawMatrix(v1::OrthoAdamSpec::Kind kind, std::int64_t size, RandomStream stream) {
  switch (kind) {
    case v1::OrthoAdamSpec::HAAR:
      return HaarMatrix(size, stream);
    case v1::OrthoAdamSpec::HADAMARD:
      return HadamardMatrix(size, stream);
  }
  INLIER_CHECK(false);
}

AxisRotation DrawAxis(const v1::OrthoAdamSpec& spec, const std::string& name, std::int64_t axis,
                      std::int64_t length) {
  const Cut cut = CutOf(length, spec.block());
  const auto draw = [&](std::int64_t size, std::int64_t index) {
    const std::string stream = absl::StrCat("rotation/", name, "/axis", axis, "/", size);
    return DrawMatrix(spec.kind(), size,
                      RandomStream(spec.rotation_seed(), stream, static_cast<std::uint64_t>(index)));
  };
  std::vector<at::Tensor> blocks;
  for (std::int64_t i = 0; i < cut.count; ++i) blocks.push_back(draw(cut.size, i));
  return {.axis = axis,
          .blocks = at::stack(blocks),
          .rest = cut.rest > 0 ? draw(cut.rest, cut.count) : at::Tensor()};
}

bool IsPowerOfTwo(std::int64_t size) { return std::has_single_bit(static_cast<std::uint64_t>(size)); }

}  // namespace

absl::Status CheckRotations(const v1::OrthoAdamSpec& spec, const std::vector<NamedParameter>& parameters) {
  if (spec.kind() != v1::OrthoAdamSpec::HADAMARD) return absl::OkStatus();
  for (const NamedParameter& parameter : parameters) {
    for (const std::int64_t axis : RotatedAxes(spec, parameter)) {
      const std::int64_t length = parameter.second.size(axis);
      const Cut cut = CutOf(length, spec.block());
      if (IsPowerOfTwo(cut.size) && (cut.rest == 0 || IsPowerOfTwo(cut.rest))) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "training.optimizer.ortho_adam.kind: HADAMARD needs powers of two, and axis ", axis, " of ",
          parameter.first, ", ", length, " long, has a block of ",
          IsPowerOfTwo(cut.size) ? cut.rest : cut.size,
          ": use HAAR, or a training.optimizer.ortho_adam.block that cuts it into powers of two"));
    }
  }
  return absl::OkStatus();
}

std::map<std::string, Rotation> DrawRotations(const v1::OrthoAdamSpec& spec,
                                              const std::vector<NamedParameter>& parameters) {
  std::map<std::string, Rotation> rotations;
  for (const NamedParameter& parameter : parameters) {
    std::vector<AxisRotation> axes;
    for (const std::int64_t axis : RotatedAxes(spec, parameter))
      axes.push_back(DrawAxis(spec, parameter.first, axis, parameter.second.size(axis)));
    if (!axes.empty()) rotations.emplace(parameter.first, Rotation(std::move(axes)));
  }
  return rotations;
}

}  // namespace inlier
