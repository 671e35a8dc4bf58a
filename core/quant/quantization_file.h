// A quantization as a file: the grid of every tensor that is rounded, by the name of its place.
#ifndef INLIER_CORE_QUANT_QUANTIZATION_FILE_H_
#define INLIER_CORE_QUANT_QUANTIZATION_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/quant/quantization.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

// JSON with `spec`, `formula`, and `weights`, `activations`, `inputs` and `outputs` (of linears): for each
// site (core/models/sites.h) bits, integer_min, integer_max, and scale and zero_point (one, or one for each
// slice of the first axis, or with group_size for each group of its entries) with the range that they are from where
// there is one; in their place `grid` and `scope`, where each tensor gets a grid of its own. FailedPrecondition names
// a site whose range is not finite, or an unsupported field of `spec`: number formats, rotation, smoothing, gptq,
// awq, kv_cache.
absl::StatusOr<std::string> QuantizationFile(const v1::QuantizationSpec& spec,
                                             const std::vector<QuantizerReport>& table);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_QUANTIZATION_FILE_H_
