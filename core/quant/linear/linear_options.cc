#include "core/quant/linear/linear_options.h"

#include "base/check.h"
#include "base/status.h"
#include "core/quant/quantization.h"
#include "spec/schema/problems.h"
#include "spec/trial/checks/quantization_method_checks.h"
#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

using Options = LinearQuantizationOptions;
using Part = Options::Part;

ScaleScope ScopeOf(v1::ScaleAxis axis) {
  switch (axis) {
    case v1::TENSOR:
      return ScaleScope::kTensor;
    case v1::TOKEN:
      return ScaleScope::kRow;
    case v1::FEATURE:
      return ScaleScope::kColumn;
  }
  INLIER_CHECK(false && "an axis that the spec does not have");
}

int BitsOfPart(std::uint32_t bits, v1::NumberFormat format) {
  return static_cast<int>(format == v1::INTEGER ? bits : BitsOf(format));
}

Part WeightPart(const v1::WeightQuantizationSpec& spec, ScaleScope scope) {
  return {.bits = BitsOfPart(spec.bits(), spec.format()),
          .scope = scope,
          .group_size = spec.group_size(),
          .group_rows = spec.has_group_rows() ? spec.group_rows() : 1,
          .format = spec.format()};
}

Part ActivationPart(const v1::ActivationQuantizationSpec& spec, ScaleScope scope) {
  return {.bits = BitsOfPart(spec.bits(), spec.format()),
          .scope = scope,
          .group_size = spec.group_size(),
          .format = spec.format(),
          .clip_ratio = spec.clip_ratio()};
}

Options AbsmaxOptions(const v1::QuantizationSpec& spec) {
  const v1::AbsmaxSchemeSpec& absmax = spec.absmax();
  const bool fine = absmax.granularity() == v1::AbsmaxSchemeSpec::FINE;
  Options options;
  options.grid = Options::Grid::kAbsmax;
  options.calibrated = absmax.calibrated();
  options.head = absmax.head();
  if (spec.has_weights())
    options.weights = WeightPart(spec.weights(), fine ? ScaleScope::kRow : ScaleScope::kTensor);
  if (spec.has_activations()) {
    options.inputs =
        ActivationPart(spec.activations(), fine ? ScopeOf(absmax.activation_axis()) : ScaleScope::kTensor);
    if (absmax.granularity() == v1::AbsmaxSchemeSpec::COARSE)
      options.outputs = ActivationPart(spec.activations(), ScaleScope::kTensor);
  }
  return options;
}

Options ZeropointOptions(const v1::QuantizationSpec& spec) {
  const v1::ZeropointSchemeSpec& zeropoint = spec.zeropoint();
  Options options;
  options.grid = Options::Grid::kZeropoint;
  options.head = zeropoint.head();
  if (spec.has_weights()) options.weights = WeightPart(spec.weights(), ScaleScope::kRow);
  if (spec.has_activations())
    options.inputs = ActivationPart(spec.activations(), ScopeOf(zeropoint.activation_axis()));
  return options;
}

}  // namespace

absl::StatusOr<Options> LinearQuantizationOptionsFromSpec(const v1::QuantizationSpec& spec) {
  INLIER_CHECK(spec.has_absmax() || spec.has_zeropoint());
  if (spec.has_weights()) RETURN_IF_ERROR(CheckBits("weights", spec.weights().bits()));
  if (spec.has_activations()) RETURN_IF_ERROR(CheckBits("activations", spec.activations().bits()));
  Problems problems;
  CheckPartsAndMethods(spec, &problems);
  RETURN_IF_ERROR(problems.ToStatus());
  Options options = spec.has_absmax() ? AbsmaxOptions(spec) : ZeropointOptions(spec);
  if (spec.has_rotation()) {
    const v1::RotationSpec& rotation = spec.rotation();
    options.rotation = {.seed = rotation.seed(), .ffn = rotation.ffn()};
    if (rotation.has_learned())
      options.rotation->learned = {.steps = rotation.learned().steps(),
                                   .learning_rate = rotation.learned().learning_rate()};
  }
  if (spec.has_smoothing()) options.smoothing = spec.smoothing().alpha();
  if (spec.has_gptq()) {
    options.gptq = {.damping = spec.gptq().damping(), .by_size = spec.gptq().by_size()};
    options.layer_by_layer = spec.gptq().layer_by_layer();
    options.dynamic_groups = spec.gptq().dynamic_groups();
  }
  if (spec.has_awq()) options.awq = {.grid = static_cast<int>(spec.awq().grid()), .clip = spec.awq().clip()};
  return options;
}

}  // namespace inlier
