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

absl::Status CheckClipRatio(const v1::QuantizationSpec& spec) {
  if (spec.activations().clip_ratio() == 1) return absl::OkStatus();
  if (spec.has_absmax() && BlockSizeOf(spec.activations().format()) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "quantization.activations.clip_ratio: is for the scheme absmax and formats without blocks: leave it "
      "out");
}

// Groups, and blocks of a format, are parts of a row.
absl::Status CheckGroups(const char* part, const Part& options) {
  const std::string path = absl::StrCat("quantization.", part, ".");
  const bool blocks = BlockSizeOf(options.format) > 0;
  if (blocks && options.group_size > 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, "group_size: is not for ",
                                                   v1::NumberFormat_Name(options.format),
                                                   ", which has blocks of its own"));
  }
  if (options.group_rows > 1 && options.group_size == 0)
    return absl::InvalidArgumentError(path + "group_rows: needs group_size");
  if ((!blocks && options.group_size == 0) || options.scope == ScaleScope::kRow) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, blocks ? "format: " : "group_size: ",
      blocks ? absl::StrCat(v1::NumberFormat_Name(options.format), " has a scale for each block of a row")
             : std::string("has one scale a group of a row"),
      ": use granularity: FINE with activation_axis: TOKEN"));
}

absl::StatusOr<Options> AbsmaxOptions(const v1::QuantizationSpec& spec) {
  using Scheme = v1::AbsmaxSchemeSpec;
  const Scheme& absmax = spec.absmax();
  const bool fine = absmax.granularity() == Scheme::FINE;
  if (fine && absmax.calibrated()) {
    return absl::InvalidArgumentError(
        "quantization.absmax.calibrated: true is not for FINE, whose scales follow each token or feature");
  }
  Options options;
  options.grid = Options::Grid::kAbsmax;
  options.calibrated = absmax.calibrated() && spec.has_activations();
  options.head = absmax.head();
  if (spec.has_weights()) {
    options.weights = WeightPart(spec.weights(), fine ? ScaleScope::kRow : ScaleScope::kTensor);
    RETURN_IF_ERROR(CheckGroups("weights", *options.weights));
  }
  if (spec.has_activations()) {
    options.inputs =
        ActivationPart(spec.activations(), fine ? ScopeOf(absmax.activation_axis()) : ScaleScope::kTensor);
    RETURN_IF_ERROR(CheckGroups("activations", *options.inputs));
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
  if (spec.weights().has_group_rows())
    return absl::InvalidArgumentError("quantization.weights.group_rows: is for the scheme absmax");
  if (spec.has_activations()) {
    options.inputs = ActivationPart(spec.activations(), ScopeOf(zeropoint.activation_axis()));
    RETURN_IF_ERROR(CheckGroups("activations", *options.inputs));
  }
  return options;
}

// Ranges are narrowed row by row or group by group, so that none may share its scale.
absl::Status CheckAwq(const v1::QuantizationSpec& spec, const Options& options) {
  if (spec.has_rotation() || spec.has_smoothing()) {
    return absl::InvalidArgumentError(
        "quantization.awq: scales what quantization.rotation and quantization.smoothing change too: give one "
        "of them");
  }
  if (!options.weights) return absl::InvalidArgumentError("quantization.awq: needs quantization.weights");
  const Part& part = *options.weights;
  if (spec.awq().clip() &&
      (part.scope != ScaleScope::kRow || part.group_rows > 1 || part.format == v1::NVFP4)) {
    return absl::InvalidArgumentError(
        "quantization.awq.clip: needs a scale of its own for each row or group of a weight: set it to false, "
        "or use granularity: FINE without group_rows, and a format other than NVFP4");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Options> LinearQuantizationOptionsFromSpec(const v1::QuantizationSpec& spec) {
  INLIER_CHECK(spec.has_absmax() || spec.has_zeropoint());
  if (spec.has_weights()) RETURN_IF_ERROR(CheckBits("weights", spec.weights().bits()));
  if (spec.has_activations()) RETURN_IF_ERROR(CheckBits("activations", spec.activations().bits()));
  RETURN_IF_ERROR(CheckClipRatio(spec));
  ASSIGN_OR_RETURN(Options options, spec.has_absmax() ? AbsmaxOptions(spec) : ZeropointOptions(spec));
  if (spec.has_rotation()) {
    const v1::RotationSpec& rotation = spec.rotation();
    options.rotation = {.seed = rotation.seed(), .ffn = rotation.ffn()};
    if (rotation.has_learned())
      options.rotation->learned = {.steps = rotation.learned().steps(),
                                   .learning_rate = rotation.learned().learning_rate()};
  }
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
    options.layer_by_layer = spec.gptq().layer_by_layer();
    options.dynamic_groups = spec.gptq().dynamic_groups();
  }
  if (spec.has_awq()) {
    RETURN_IF_ERROR(CheckAwq(spec, options));
    options.awq = {.grid = static_cast<int>(spec.awq().grid()), .clip = spec.awq().clip()};
  }
  return options;
}

}  // namespace inlier
