// The quantization of a trial.
#ifndef INLIER_CORE_QUANT_MAKE_QUANTIZATION_H_
#define INLIER_CORE_QUANT_MAKE_QUANTIZATION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/quant/quantization.h"
#include "inlier/v1/model_spec.pb.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

// The tap of `spec`'s scheme for a model of `architecture`. InvalidArgument, with the path, for an unsupported setting.
absl::StatusOr<std::unique_ptr<Quantization>> MakeQuantization(const v1::QuantizationSpec& spec,
                                                               v1::ModelSpec::ArchitectureCase architecture);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_MAKE_QUANTIZATION_H_
