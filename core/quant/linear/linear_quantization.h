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
// Each linear is smoothed, scaled or rotated (linear_transform.h), then its grids are made, with AWQ's narrowed ranges (awq.h),
// then it is rounded: to the nearest, or with GPTQ (gptq.h). Of GPTQ the grids of rows and groups are fixed before from W, and its
// second moments are those of the float model's inputs in one run over the calibration batches. As its authors have it (Frantar et
// al. 2023, section 4, and their code): with dynamic_groups the grid of a group is taken when it is reached; with layer_by_layer the
// moments of a layer are of the inputs that the layers before it give with rounded weights and float activations, in a run for each
// layer. AWQ's are the float model's there too.
//
// While a rotation is learned (LearnedRotationSpec), everything is rounded on grids of its own extremes, calibrated or not, and
// gradients pass the roundings straight through. With GPTQ, which corrects for the rounding of weights, weights stay float then
// where inputs are rounded: Liu et al. 2025, and the notes on the authors' code.
//
// On a GPU no call before Table() waits for the device, but Learn(), Freeze() and, during calibration, GPTQ and AWQ.
#ifndef INLIER_CORE_QUANT_LINEAR_LINEAR_QUANTIZATION_H_
#define INLIER_CORE_QUANT_LINEAR_LINEAR_QUANTIZATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
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
  void OnNormOffset(const std::string& site, const at::Tensor& offset) override {
    transform_.SeeOffset(site, offset);
  }
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override;
  at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override;
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override {
    transform_.SeeValues(site, values);
    return values;
  }

  absl::Status Learn(const LossOfUpdate& loss_of) override;
  bool needs_calibration() const override {
    return options_.calibrated || options_.smoothing || needs_moments() ||
           (options_.rotation && options_.rotation->learned);
  }
  absl::StatusOr<bool> EndRun() override;
  // InvalidArgument when the moments of an input do not allow GPTQ or AWQ.
  absl::Status Freeze() override;
  std::vector<QuantizerReport> Table() const override;
  std::optional<Rounding> RoundingOf(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                                     const at::Tensor& used) override;
  at::Tensor LearnedRotationOf(const std::string& site, const at::Tensor& values) override {
    return transform_.LearnedRotationOf(site, values);
  }

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
  bool needs_moments() const { return options_.gptq || options_.awq; }
  Entry& Find(EntryMap& entries, const std::string& site, const at::Tensor& x, int bits);
  // The real tokens of x where they decide the grid of `part` together.
  at::Tensor TextOf(const at::Tensor& x, const Part& part) const;
  // During calibration; `x` is as the model has it.
  void SeeLargest(EntryMap& entries, const std::string& site, const at::Tensor& x, const Part& part);
  // While a rotation is learned: `exact`, which is transformed, on the grid of `seen`; and a weight, as it is used.
  at::Tensor RoundForGradient(const at::Tensor& exact, const at::Tensor& seen, const Part& part) const;
  at::Tensor WeightForGradient(const std::string& site, const at::Tensor& weight);
  // `x` is transformed.
  at::Tensor RoundActivation(EntryMap& entries, const std::string& site, const at::Tensor& x,
                             const Part& part);
  at::Tensor ToNearest(const at::Tensor& weight) const {
    return RoundToPart(weight, GridOfPart(weight, *options_.weights, options_.grid));
  }
  // The second moments of the input of `site`, transformed. During Freeze().
  at::Tensor MomentsOf(const std::string& site);
  // `exact` with AWQ's ranges where it narrows them.
  at::Tensor Narrowed(const std::string& site, const at::Tensor& exact);
  // `exact` is transformed. Without rounding of weights it is used as it is.
  absl::Status RoundWeight(const std::string& site, const at::Tensor& exact, Entry& entry);
  // The same with GPTQ, which changes the groups of entry.grid where they are dynamic.
  absl::StatusOr<at::Tensor> Corrected(const std::string& site, const at::Tensor& exact, Entry& entry);
  absl::Status SetFactors();
  // Every linear whose input has been observed.
  absl::Status RoundObserved();

  // Of a linear while the model is observed: those of a layer are rounded together, all at once but with layer_by_layer.
  enum class Turn { kRounded, kNow, kLater };
  Turn TurnOf(const std::string& site);

  const LinearQuantizationOptions options_;
  bool observes_;        // During calibration: all tensors pass unchanged.
  bool learns_ = false;  // During Learn(): gradients are recorded.
  TokenMask mask_;       // Of this pass.
  LinearTransform transform_;
  InputStatistics statistics_;  // Of calibration; empty after it.
  EntryMap weights_;
  EntryMap inputs_;
  EntryMap outputs_;
  int next_order_ = 0;
  std::unordered_set<std::int64_t> rounded_layers_;
  std::optional<std::int64_t>
      layer_;  // Whose turn it is in this run; nothing: that of the first linear which is not rounded.
  bool in_layers_ = false;    // A layer has been reached in this pass.
  bool others_left_ = false;  // A layer behind it has been seen in this run.
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LINEAR_QUANTIZATION_H_
