#include "core/quant/linear/linear_options.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "core/quant/quantization.h"
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
  return {BitsOfPart(spec.bits(), spec.format()), scope, spec.group_size(), spec.format()};
}

Part ActivationPart(const v1::ActivationQuantizationSpec& spec, ScaleScope scope) {
  return {BitsOfPart(spec.bits(), spec.format()), scope, /*group_size=*/0, spec.format()};
}

absl::Status CheckBlocks(const char* part, v1::NumberFormat format, ScaleScope scope) {
  if (BlockSizeOf(format) == 0 || scope == ScaleScope::kRow) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "quantization.", part, ".format: ", v1::NumberFormat_Name(format),
      " has a scale for each block of a row: use granularity: FINE with activation_axis: TOKEN"));
}

absl::StatusOr<Options> AbsmaxOptions(const v1::QuantizationSpec& spec) {
  using Scheme = v1::AbsmaxSchemeSpec;
  const Scheme& absmax = spec.absmax();
  const bool fine = absmax.granularity() == Scheme::FINE;
  if (fine && absmax.calibrated()) {
    return absl::InvalidArgumentError(
        "quantization.absmax.calibrated: true is not for FINE, whose scales follow each token or feature");
  }
  if (!fine && spec.weights().has_group_size()) {
    return absl::InvalidArgumentError(
        "quantization.weights.group_size: has one scale a group, and MODERATE and COARSE have one a tensor");
  }
  Options options;
  options.grid = Options::Grid::kAbsmax;
  options.calibrated = absmax.calibrated() && spec.has_activations();
  options.head = absmax.head();
  if (spec.has_weights()) {
    options.weights = WeightPart(spec.weights(), fine ? ScaleScope::kRow : ScaleScope::kTensor);
    if (options.weights->format != v1::INTEGER && options.weights->group_size > 0)
      return absl::InvalidArgumentError("quantization.weights.group_size: is for integers only");
    RETURN_IF_ERROR(CheckBlocks("weights", options.weights->format, options.weights->scope));
  }
  if (spec.has_activations()) {
    options.inputs =
        ActivationPart(spec.activations(), fine ? ScopeOf(absmax.activation_axis()) : ScaleScope::kTensor);
    RETURN_IF_ERROR(CheckBlocks("activations", options.inputs->format, options.inputs->scope));
    if (absmax.granularity() == Scheme::COARSE)
      options.outputs = ActivationPart(spec.activations(), ScaleScope::kTensor);
  }
  return options;
}

absl::StatusOr<Options> ZeropointOptions(const v1::QuantizationSpec& spec) {
  const v1::ZeropointSchemeSpec& zeropoint = spec.zeropoint();
  if (spec.weights().format() != v1::INTEGER || spec.activations().format() != v1::INTEGER) {
    return absl::InvalidArgumentError(
        "quantization.zeropoint: is for integers; formats of floating-point numbers have no zero point: use "
        "quantization.absmax");
  }
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
  ASSIGN_OR_RETURN(Options options, spec.has_absmax() ? AbsmaxOptions(spec) : ZeropointOptions(spec));
  if (spec.has_rotation()) options.rotation = {spec.rotation().seed(), spec.rotation().ffn()};
  if (spec.has_smoothing()) {
    if (spec.has_rotation()) {
      return absl::InvalidArgumentError(
          "quantization.smoothing: is undone by quantization.rotation, which takes the scale of each feature "
          "out of the input: give one of them");
    }
    options.smoothing = spec.smoothing().alpha();
  }
  if (spec.has_gptq()) {
    if (!options.weights || options.weights->scope != ScaleScope::kRow) {
      return absl::InvalidArgumentError(
          "quantization.gptq: needs quantization.weights with scales of rows or groups: absmax with FINE, or "
          "zeropoint");
    }
    options.gptq = {.damping = spec.gptq().damping(), .by_size = spec.gptq().by_size()};
  }
  return options;
}

}  // namespace inlier
