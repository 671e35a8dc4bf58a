// A quantized model in the layout of the library compressed-tensors, which transformers and vLLM load.
//
// Of each linear X of the layers, (out, in), in place of X.weight; Q = 2^(b-1), q the rounded weight as an integer, s its scale:
//   pack-quantized   weights alone, b = 4 or 8:  X.weight_packed (out, ceil(in b / 32)) int32, q + Q in b bits each, the first in the
//                    lowest; X.weight_shape (2) int64
//   int-quantized    inputs too, b <= 8:         X.weight (out, in) int8, q
//   both             X.weight_scale (out, 1), or (out, groups): float32
// and in config.json `quantization_config`, with a scale for each token of the inputs. Weights are those of the evaluation bit for
// bit. The library's own integers of inputs are -Q to Q - 1 and its scale the largest magnitude divided by Q - 1/2, where the
// scheme absmax has 1 - Q to Q - 1 and Q - 1 (docs/guides/hugging-face.md).
#ifndef INLIER_CORE_TRIAL_EXPORT_COMPRESSED_EXPORT_H_
#define INLIER_CORE_TRIAL_EXPORT_COMPRESSED_EXPORT_H_

#include <string>

#include "absl/status/status.h"
#include "core/io/safetensors.h"
#include "core/quant/quantization.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// FailedPrecondition with the path of the field that the layout has no form for.
absl::Status CheckCompressedTensors(const v1::TrialSpec& resolved);

// The value of `quantization_config`, JSON.
std::string CompressedTensorsConfig(const v1::QuantizationSpec& spec);

// Replaces the weights in `tensors`, by their names in transformers, that `quantization` has rounded. REQUIRES:
// CheckCompressedTensors, and a batch has passed.
void CompressWeights(const v1::QuantizationSpec& spec, Quantization& quantization, TensorMap* tensors);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_EXPORT_COMPRESSED_EXPORT_H_
