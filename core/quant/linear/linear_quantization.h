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
// Each linear is smoothed or rotated (linear_transform.h), then its grids are made, then it is rounded: to the nearest, or
// with GPTQ (gptq.h). Of GPTQ the grids of rows and groups are fixed before from W. Its second moments are those of the float
// model's inputs in one run over the calibration batches; the reference goes layer by layer, with the inputs that the layers
// quantized so far give, and takes the grid of a group when it reaches it (Frantar et al. 2023, section 4).
//
// On a GPU no call before Table() waits for the device, but Freeze() and, during calibration, GPTQ.
#ifndef INLIER_CORE_QUANT_LINEAR_LINEAR_QUANTIZATION_H_
#define INLIER_CORE_QUANT_LINEAR_LINEAR_QUANTIZATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/token_mask.h"
#include "core/quant/input_statistics.h"
#include "core/quant/linear/linear_options.h"
#include "core/quant/linear/linear_transform.h"
#include "core/quant/part_grid.h"
#include "core/quant/quantization.h"

namespace inlier {

class LinearQuantization : public Quantization {
 public:
  // For a model of `architecture`. InvalidArgument as LinearQuantizationOptionsFromSpec, and for a rotation of an
  // architecture that cannot be rotated.
  static absl::StatusOr<std::unique_ptr<LinearQuantization>> Create(
      const v1::QuantizationSpec& spec, v1::ModelSpec::ArchitectureCase architecture);

  LinearQuantization(const LinearQuantizationOptions& options, v1::ModelSpec::ArchitectureCase architecture);

  void OnPass(const at::Tensor& attention_mask) override;
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override;
  at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override;

  bool needs_calibration() const override {
    return options_.calibrated || options_.smoothing || options_.gptq;
  }
  // InvalidArgument when the second moments of an input do not allow GPTQ.
  absl::Status Freeze() override;
  std::vector<QuantizerReport> Table() const override;
  std::optional<Rounding> RoundingOf(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                                     const at::Tensor& used) override;

  // The weight that is used at `site`; nothing if none has been rounded.
  std::optional<at::Tensor> QuantizedWeight(const std::string& site) const;

 private:
  struct Entry {
    int order;
    int bits;
    std::vector<std::int64_t> shape;
    PartGrid grid;       // Of the last tensor; calibrated: fixed by Freeze.
    at::Tensor largest;  // max|x| over the calibration batches; calibrated inputs and outputs only.
    at::Tensor rounded;  // Weights only: as it is rounded, and as it is used.
    at::Tensor used;
  };
  using EntryMap = std::unordered_map<std::string, Entry>;  // By site.
  using Part = LinearQuantizationOptions::Part;

  bool IsRounded(const std::string& site) const;
  Entry& Find(EntryMap& entries, const std::string& site, const at::Tensor& x, int bits);
  // The real tokens of x where they decide the grid of `part` together.
  at::Tensor TextOf(const at::Tensor& x, const Part& part) const;
  // During calibration; `x` is as the model has it.
  void SeeLargest(EntryMap& entries, const std::string& site, const at::Tensor& x, const Part& part);
  // `x` is transformed.
  at::Tensor RoundActivation(EntryMap& entries, const std::string& site, const at::Tensor& x,
                             const Part& part);
  // `exact` is transformed. Without rounding of weights it is used as it is.
  absl::Status RoundWeight(const std::string& site, const at::Tensor& exact, Entry& entry);
  void SetFactors();

  const LinearQuantizationOptions options_;
  bool observes_;   // During calibration: all tensors pass unchanged.
  TokenMask mask_;  // Of this pass.
  LinearTransform transform_;
  InputStatistics statistics_;  // Of calibration; empty after it.
  EntryMap weights_;
  EntryMap inputs_;
  EntryMap outputs_;
  int next_order_ = 0;
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LINEAR_QUANTIZATION_H_
