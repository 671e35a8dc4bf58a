// Post-training quantization of a whole model, as a tap (core/nn/activation_tap.h): every weight and
// activation that the reference code quantizes is rounded on its way through the model.
//
//   ASSIGN_OR_RETURN(PostTrainingQuantization ptq, PostTrainingQuantization::Create(spec, ModelSpec::kBert));
//   for (batch of calibration) model->Forward(batch, &ptq);   // Each range is updated with the tensor just
//   seen, then used at once. ptq.Freeze();                                             // From here on ranges
//   stay as they are. evaluate with &ptq
//
// Weight ranges are set when a weight is first seen; the rounded weight is kept and used from then on, so the
// model's weights must not change while the tap is in use. Sites that the table of the architecture does not
// name pass unchanged. A tensor passed on is new: the model's own is never written to. Gradients are not
// recorded.
//
// Thread safety: none; one model, one thread.
#ifndef INLIER_CORE_QUANT_POST_TRAINING_QUANTIZATION_H_
#define INLIER_CORE_QUANT_POST_TRAINING_QUANTIZATION_H_

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/activation_tap.h"
#include "core/quant/quantizer.h"
#include "core/quant/range_estimator.h"
#include "inlier/v1/model_spec.pb.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

struct QuantizedSite;  // core/quant/quantized_sites.h

// What to do about a model's weights and activations; nothing means floating point.
struct PtqOptions {
  std::optional<QuantizerOptions> weights;
  std::optional<QuantizerOptions> activations;
  v1::ReferenceSchemeSpec::Setup setup;
};

// The options that `spec` asks for. InvalidArgument for a setting that cannot be had, with its path.
absl::StatusOr<PtqOptions> PtqOptionsFromSpec(const v1::QuantizationSpec& spec);

// One quantizer of a model, for reports.
struct QuantizerReport {
  int order;         // Of first use, from 0.
  std::string site;  // Path of the module of the reference code.
  bool is_weight;    // Else an activation.
  int bits;
  bool symmetric;
  bool is_signed;
  std::vector<int64_t> shape;  // Of the tensor first seen.
  ValueRange range;
  QuantizationGrid grid;
};

class PostTrainingQuantization : public ActivationTap {
 public:
  // For a model of `architecture`. InvalidArgument where the spec asks for something that cannot be had.
  static absl::StatusOr<std::unique_ptr<PostTrainingQuantization>> Create(
      const v1::QuantizationSpec& spec, v1::ModelSpec::ArchitectureCase architecture);

  PostTrainingQuantization(const PtqOptions& options, v1::ModelSpec::ArchitectureCase architecture);
  ~PostTrainingQuantization() override;

  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;

  // Ends calibration: no range changes any more. A site first reached after this is a programmer's error.
  void Freeze();
  bool frozen() const { return frozen_; }

  // Whether calibration takes more than one batch: weight ranges alone are complete after the first.
  bool calibrates_activations() const { return options_.activations.has_value(); }

  // Fixes the range of an activation quantizer, as read from a report; calibration then leaves it alone.
  // REQUIRES: the table of the architecture has an activation quantizer at `site`.
  void SetActivationRange(const std::string& site, const ValueRange& range);

  // Every quantizer that has been used, in order of first use.
  std::vector<QuantizerReport> Table() const;

  // The rounded weight of `site`; nothing where none has been seen.
  std::optional<at::Tensor> QuantizedWeight(const std::string& site) const;

 private:
  struct Entry;
  using EntryMap =
      std::unordered_map<std::string, std::unique_ptr<Entry>>;  // By site; null: passes unchanged.

  // The quantizer of `site`, made when it is first asked for; null where there is none.
  Entry* Find(const std::string& site, bool is_weight, bool has_channels);
  std::unique_ptr<Entry> MakeEntry(const std::string& site, bool is_weight, bool has_channels) const;

  const PtqOptions options_;
  const std::vector<QuantizedSite>& sites_;
  bool frozen_ = false;
  EntryMap weights_;
  EntryMap activations_;
  int next_order_ = 0;
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_POST_TRAINING_QUANTIZATION_H_
