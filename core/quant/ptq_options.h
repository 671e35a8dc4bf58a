// What the scheme `reference` does about a model's weights and activations, read from the trial.
#ifndef INLIER_CORE_QUANT_PTQ_OPTIONS_H_
#define INLIER_CORE_QUANT_PTQ_OPTIONS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "core/quant/range_estimator.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

// Nothing means floating point.
struct PtqOptions {
  std::optional<QuantizerOptions> weights;
  std::optional<QuantizerOptions> activations;
  v1::ReferenceSchemeSpec::Setup setup;
};

// The options that `spec` asks for. InvalidArgument for a setting that cannot be had, with its path.
absl::StatusOr<PtqOptions> PtqOptionsFromSpec(const v1::QuantizationSpec& spec);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_PTQ_OPTIONS_H_
