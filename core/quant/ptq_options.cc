#include "core/quant/ptq_options.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/quant/quantization.h"

namespace inlier {
namespace {

// A percentile that cuts off values at both ends; `up_to_100`: or at none.
absl::StatusOr<double> Percentile(const char* path, double percent, bool up_to_100) {
  if (percent > 50 && (percent < 100 || (up_to_100 && percent == 100))) return percent;
  return absl::InvalidArgumentError(absl::StrCat("quantization.", path, ": ", percent,
                                                 " is not between 50 and 100 (", up_to_100 ? "50" : "both",
                                                 " excluded)"));
}

absl::StatusOr<QuantizerOptions> WeightOptions(const v1::WeightQuantizationSpec& spec) {
  RETURN_IF_ERROR(CheckBits("weights", spec.bits()));
  QuantizerOptions options = {.bits = static_cast<int>(spec.bits()),
                              .symmetric = spec.symmetric(),
                              .per_channel = spec.per_channel(),
                              .method = RangeMethod::kMinMax};
  switch (spec.range().kind_case()) {
    case v1::WeightRangeSpec::kMinmax:
    case v1::WeightRangeSpec::KIND_NOT_SET:
      break;
    case v1::WeightRangeSpec::kMse:
      if (options.per_channel && !options.symmetric) {
        return absl::InvalidArgumentError(
            "quantization.weights: per_channel with range.mse needs symmetric: true (an asymmetric search "
            "has one range a tensor)");
      }
      options.method = RangeMethod::kMseGrid;
      break;
    case v1::WeightRangeSpec::kPercentile:
      options.method = RangeMethod::kPercentile;
      ASSIGN_OR_RETURN(options.percentile,
                       Percentile("weights.range.percentile.p", spec.range().percentile().p(),
                                  /*up_to_100=*/true));
      break;
  }
  return options;
}

absl::StatusOr<QuantizerOptions> ActivationOptions(const v1::ActivationQuantizationSpec& spec) {
  RETURN_IF_ERROR(CheckBits("activations", spec.bits()));
  QuantizerOptions options = {.bits = static_cast<int>(spec.bits()),
                              .symmetric = spec.symmetric(),
                              .method = RangeMethod::kRunningMinMax};
  switch (spec.range().kind_case()) {
    case v1::ActivationRangeSpec::kRunningMinmax:
    case v1::ActivationRangeSpec::KIND_NOT_SET: {
      const v1::RunningMinMaxRangeSpec& running = spec.range().running_minmax();
      options.momentum = running.momentum();
      if (!running.has_percentile()) break;
      ASSIGN_OR_RETURN(options.percentile, Percentile("activations.range.running_minmax.percentile",
                                                      running.percentile(), /*up_to_100=*/false));
      break;
    }
    case v1::ActivationRangeSpec::kMinmax:
      options.method = RangeMethod::kMinMax;
      break;
    case v1::ActivationRangeSpec::kMse:
      options.method = RangeMethod::kMseGrid;
      break;
    case v1::ActivationRangeSpec::kMseSearch:
      options.method = RangeMethod::kMseSearch;
      break;
    case v1::ActivationRangeSpec::kPercentile:
      options.method = RangeMethod::kPercentile;
      ASSIGN_OR_RETURN(options.percentile, Percentile("activations.range.percentile.p",
                                                      spec.range().percentile().p(), /*up_to_100=*/true));
      break;
  }
  return options;
}

}  // namespace

absl::StatusOr<PtqOptions> PtqOptionsFromSpec(const v1::QuantizationSpec& spec) {
  PtqOptions options;
  options.setup = spec.reference().setup();
  if (spec.has_weights()) {
    ASSIGN_OR_RETURN(options.weights, WeightOptions(spec.weights()));
  }
  if (spec.has_activations()) {
    ASSIGN_OR_RETURN(options.activations, ActivationOptions(spec.activations()));
  }
  return options;
}

}  // namespace inlier
