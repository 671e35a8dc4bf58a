// The scheme `reference` (quantization_spec.proto): every weight and activation that the reference code, or
// for ViT its paper, quantizes is rounded on its way through the model, to a range estimated from the tensors seen.
//
//   ASSIGN_OR_RETURN(auto ptq, PostTrainingQuantization::Create(spec, ModelSpec::kBert));
//   for (batch of calibration) model->Logits(batch, ptq.get());
//   RETURN_IF_ERROR(ptq->Freeze());
//   evaluate with ptq.get()
//
// During calibration each range is updated with the tensor just seen, then used at once; from Freeze on
// ranges stay as they are. Sites outside the table of the architecture pass unchanged. See also core/quant/quantization.h.
#ifndef INLIER_CORE_QUANT_POST_TRAINING_QUANTIZATION_H_
#define INLIER_CORE_QUANT_POST_TRAINING_QUANTIZATION_H_

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/quant/ptq_options.h"
#include "core/quant/quantization.h"
#include "core/quant/quantizer.h"
#include "inlier/v1/model_spec.pb.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

struct QuantizedSite;  // core/quant/quantized_sites.h

class PostTrainingQuantization : public Quantization {
 public:
  // For a model of `architecture`. InvalidArgument for an unsupported setting, or an architecture without a
  // table of sites.
  static absl::StatusOr<std::unique_ptr<PostTrainingQuantization>> Create(
      const v1::QuantizationSpec& spec, v1::ModelSpec::ArchitectureCase architecture);

  // REQUIRES: HasQuantizedSites(architecture).
  PostTrainingQuantization(const PtqOptions& options, v1::ModelSpec::ArchitectureCase architecture);
  ~PostTrainingQuantization() override;

  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override;
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;

  // Ranges of weights need no calibration batch.
  bool needs_calibration() const override { return options_.activations.has_value(); }
  absl::Status Freeze() override;

  // Fixes the range of an activation quantizer, as read from a report; calibration then keeps it.
  // REQUIRES: the table of the architecture has an activation quantizer at `site`.
  void SetActivationRange(const std::string& site, const ValueRange& range);

  std::vector<QuantizerReport> Table() const override;

  // The rounded weight of `site`; nothing if none has been seen.
  std::optional<at::Tensor> QuantizedWeight(const std::string& site) const;

 private:
  struct Entry;
  // By site; null: passes unchanged.
  using EntryMap = std::unordered_map<std::string, std::unique_ptr<Entry>>;

  // The quantizer of `site`, made at its first use; null where there is none.
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
