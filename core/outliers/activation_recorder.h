// Infinity norm and kurtosis of a model's activations over an evaluation, as a tap (core/nn/activation_tap.h)
// that passes all tensors unchanged. After a quantizing tap in a chain it measures the quantized activations.
//
// The choice of tensors, and their rows, follow the reference code (Bondarenko et al. 2023):
//   BERT, layer j:  "….layer.j.output.dense" (F, second linear of the feed-forward network),
//                   "….layer.j.output.LayerNorm" (N, layer output),
//                   "….layer.j.output.LayerNorm.input" (R, the residual sum; no kurtosis). Row = sequence.
//   OPT:            "model.decoder.final_layer_norm" (pre-LN only) and, layer j:
//                   "….layers.j" (layer output), ".fc2", ".final_layer_norm", ".self_attn.out_proj",
//                   ".self_attn_layer_norm". Row = sequence; fc2 and, pre-LN, the layers' final_layer_norm:
//                   row = token, because the reference flattens its activations there, and so do the
//                   models here (core/models/sites.h): a row is an entry of the first axis.
//   GPT-2, Llama, ViT, which that code does not have: the tensors of OPT, by the same roles.
//                   Row = sequence or image.
// A metric of a tensor is the plain mean of its rows over all batches; kurtosis only over the first
// `kurtosis_batches`. Padding of a row is left out of it, and a row of padding alone does not count; with count_padding it is
// measured like text, as the reference code does (docs/decisions/0024-padding.md).
//
// On a GPU no call before Sites() or Summary() waits for the device.
#ifndef INLIER_CORE_OUTLIERS_ACTIVATION_RECORDER_H_
#define INLIER_CORE_OUTLIERS_ACTIVATION_RECORDER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/nn/activation_tap.h"
#include "core/nn/token_mask.h"
#include "inlier/v1/model_spec.pb.h"

namespace inlier {

struct SiteOutliers {
  std::string name;                // As in the list above.
  double inf_norm = 0;             // Mean over rows.
  std::optional<double> kurtosis;  // Mean over rows of the first batches, if taken.
  at::Tensor row_inf_norm;         // One value a row, in the order of the data; only with keep_rows.
  at::Tensor row_kurtosis;
};

// The figures of the papers' tables. "max" is over the means of tensors, "avg" their mean.
struct OutlierSummary {
  double max_inf_norm;        // The figure the papers print: BERT max over F, others max over layer outputs.
  double max_ffn_inf_norm;    // F, or fc2.
  double max_layer_inf_norm;  // Layer outputs.
  std::optional<double> max_residual_inf_norm = {};  // R; BERT only.
  double max_any_inf_norm;                           // Every measured tensor.
  double avg_kurtosis;                               // Every tensor whose kurtosis is taken.
  double max_kurtosis;
  double max_layer_kurtosis;  // Layer outputs.
};

struct RecorderOptions {
  int kurtosis_batches;    // Kurtosis is taken in this many batches from the first.
  bool keep_rows = false;  // Also keep every row's value.
  bool count_padding = false;
};

class ActivationRecorder : public ActivationTap {
 public:
  // REQUIRES: kurtosis_batches >= 1.
  ActivationRecorder(v1::ModelSpec::ArchitectureCase architecture, const RecorderOptions& options);
  ~ActivationRecorder() override;

  void OnPass(const at::Tensor& attention_mask) override;
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;

  // Every measured tensor, in order of first use.
  std::vector<SiteOutliers> Sites() const;

  // REQUIRES: at least one batch has been seen.
  OutlierSummary Summary() const;

 private:
  enum class Role { kOther, kFfnOutput, kLayerOutput, kResidual };
  struct RowSum;
  struct Record;

  Record* Find(const std::string& site);

  const v1::ModelSpec::ArchitectureCase architecture_;
  const RecorderOptions options_;
  TokenMask mask_;                                           // Of this pass.
  std::unordered_map<std::string, Record*> record_of_site_;  // Null: not measured.
  std::vector<std::unique_ptr<Record>> records_;             // In order of first use.
};

}  // namespace inlier

#endif  // INLIER_CORE_OUTLIERS_ACTIVATION_RECORDER_H_
