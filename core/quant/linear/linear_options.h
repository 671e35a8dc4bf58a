// The options of the schemes `absmax` and `zeropoint`, read from the trial.
#ifndef INLIER_CORE_QUANT_LINEAR_LINEAR_OPTIONS_H_
#define INLIER_CORE_QUANT_LINEAR_LINEAR_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/quant/awq.h"
#include "core/quant/gptq.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

// The slice that shares a scale.
enum class ScaleScope {
  kTensor,  // The whole tensor.
  kRow,  // One index of all axes but the last: an output channel of a weight (out, in), a token of (…, features).
  kColumn,  // One index of the last axis: a feature, over all tokens.
};

struct LearnedRotationOptions {
  std::int64_t steps;    // Updates.
  double learning_rate;  // Of the first one.
};

struct RotationOptions {
  std::uint32_t seed;
  bool ffn;  // Also the inputs of the linears that write the residual stream.
  std::optional<LearnedRotationOptions> learned = {};  // Nothing: random.
};

struct LinearQuantizationOptions {
  enum class Grid { kAbsmax, kZeropoint };
  struct Part {
    int bits;
    ScaleScope scope;
    std::int64_t group_size = 0;            // kRow: entries of a row that share a scale; 0: all of it.
    std::int64_t group_rows = 1;            // Rows that share the scale of a group. Of weights, kAbsmax.
    v1::NumberFormat format = v1::INTEGER;  // Else kAbsmax, and `bits` are the format's.
    double clip_ratio = 1;  // Of the largest magnitude, what the grid reaches. kAbsmax, no blocks.
  };

  Grid grid = Grid::kAbsmax;
  std::optional<Part> weights;  // Nothing: float.
  std::optional<Part> inputs;
  std::optional<Part> outputs;
  bool calibrated = false;  // Inputs and outputs; kAbsmax with kTensor only.
  bool head = false;        // The head too.
  std::optional<RotationOptions> rotation;
  std::optional<double> smoothing;  // Its alpha. Not with a rotation.
  std::optional<GptqOptions> gptq;  // Nothing: weights to the nearest. kRow only.
  // Of GPTQ: without smoothing, AWQ and calibrated inputs; with groups of rows, without by_size and AWQ.
  bool layer_by_layer = false;
  bool dynamic_groups = false;
  std::optional<AwqOptions> awq;  // Of weights. Not with a rotation or smoothing; clip: kRow only.
};

// InvalidArgument, with the path, as CheckPartsAndMethods. REQUIRES: the scheme is absmax or zeropoint.
absl::StatusOr<LinearQuantizationOptions> LinearQuantizationOptionsFromSpec(const v1::QuantizationSpec& spec);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LINEAR_OPTIONS_H_
