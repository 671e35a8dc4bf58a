// The options of the scheme `reference` for a model's weights and activations, read from the trial.
#ifndef INLIER_CORE_QUANT_PTQ_OPTIONS_H_
#define INLIER_CORE_QUANT_PTQ_OPTIONS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "core/quant/range_estimator.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

// Absent means floating point.
struct PtqOptions {
  std::optional<QuantizerOptions> weights;
  std::optional<QuantizerOptions> activations;
  v1::ReferenceSchemeSpec::Setup setup;
};

// InvalidArgument, with the path, for an unsupported setting.
absl::StatusOr<PtqOptions> PtqOptionsFromSpec(const v1::QuantizationSpec& spec);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_PTQ_OPTIONS_H_
