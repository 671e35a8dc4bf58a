// Quantization of a model's linears alone, each tensor on a grid made from its own extremes: the schemes
// `absmax` and `zeropoint` (quantization_spec.proto; Dettmers et al. 2022; Kaul et al. 2025, section 5).
//
//   y = Q_in(x) Q_w(W)^T + b, then Q_out(y) if outputs are quantized
//
// Embeddings, norms, attention products and gates stay float, and so does the head by default. Grids of
// inputs and outputs are computed from every batch, so that a result depends on the evaluation's batch size
// if one scale covers several sequences; calibrated, they come from the largest magnitudes of the float model
// in the calibration batches, and nothing is rounded before Freeze(). Padding decides no grid, and is rounded to that of
// the text (docs/decisions/0024-padding.md).
//
// Thread safety: none; one model, one thread. On a GPU no call before Table() waits for the device.
#ifndef INLIER_CORE_QUANT_LINEAR_QUANTIZATION_H_
#define INLIER_CORE_QUANT_LINEAR_QUANTIZATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/token_mask.h"
#include "core/quant/quantization.h"
#include "core/quant/slice_grid.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

// The slice that shares a scale.
enum class ScaleScope {
  kTensor,  // The whole tensor.
  kRow,     // One index of all axes but the last: an output channel of a weight (out, in), a token of (…,
            // features).
  kColumn,  // One index of the last axis: a feature, over all tokens.
};

struct LinearQuantizationOptions {
  enum class Grid { kAbsmax, kZeropoint };
  struct Part {
    int bits;
    ScaleScope scope;
    std::int64_t group_size = 0;  // kRow of a weight: input channels that share a scale; 0: all of a row.
  };

  Grid grid;
  std::optional<Part> weights;  // Nothing: float.
  std::optional<Part> inputs;
  std::optional<Part> outputs;
  bool calibrated = false;  // Inputs and outputs; kAbsmax with kTensor only.
  bool head = false;        // The head too.
};

// The options of `spec`. InvalidArgument, with the path, for an unsupported setting.
// REQUIRES: the scheme is absmax or zeropoint.
absl::StatusOr<LinearQuantizationOptions> LinearQuantizationOptionsFromSpec(const v1::QuantizationSpec& spec);

class LinearQuantization : public Quantization {
 public:
  // As LinearQuantizationOptionsFromSpec.
  static absl::StatusOr<std::unique_ptr<LinearQuantization>> Create(const v1::QuantizationSpec& spec);

  explicit LinearQuantization(const LinearQuantizationOptions& options);
  ~LinearQuantization() override;

  void OnPass(const at::Tensor& attention_mask) override { mask_ = MakeTokenMask(attention_mask); }
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override;
  at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override;

  bool needs_calibration() const override { return options_.calibrated; }
  void Freeze() override;
  std::vector<QuantizerReport> Table() const override;

  // The rounded weight of `site`; nothing if none has been seen.
  std::optional<at::Tensor> QuantizedWeight(const std::string& site) const;

 private:
  // Of one linear's weight, input or output.
  struct Entry {
    int order;
    int bits;
    std::vector<std::int64_t> shape;
    SliceGrid grid;      // Of the last tensor; calibrated: fixed by Freeze.
    at::Tensor largest;  // max|x| over the calibration batches; calibrated inputs and outputs only.
    at::Tensor rounded;  // Weights only.
  };
  using EntryMap = std::unordered_map<std::string, Entry>;  // By site.

  bool IsRounded(const std::string& site) const;
  Entry& Find(EntryMap& entries, const std::string& site, const at::Tensor& x, int bits);
  SliceGrid GridOf(const at::Tensor& x, const LinearQuantizationOptions::Part& part) const;
  at::Tensor RoundActivation(EntryMap& entries, const std::string& site, const at::Tensor& x,
                             const std::optional<LinearQuantizationOptions::Part>& part);

  const LinearQuantizationOptions options_;
  bool observes_;   // During calibration: all tensors pass unchanged.
  TokenMask mask_;  // Of this pass.
  EntryMap weights_;
  EntryMap inputs_;
  EntryMap outputs_;
  int next_order_ = 0;
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_QUANTIZATION_H_
