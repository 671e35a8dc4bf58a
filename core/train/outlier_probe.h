// All measurements inside a running model, from the recorders of core/outliers: at the end of training over
// the validation part, or the first batches of it, and during training on its first examples.
//
// On a GPU no call before Report() waits for the device.
#ifndef INLIER_CORE_TRAIN_OUTLIER_PROBE_H_
#define INLIER_CORE_TRAIN_OUTLIER_PROBE_H_

#include <optional>
#include <vector>

#include "core/models/model.h"
#include "core/outliers/activation_recorder.h"
#include "core/outliers/attention_recorder.h"
#include "core/outliers/six_sigma_recorder.h"
#include "core/outliers/token_outlier_recorder.h"
#include "core/train/measurement_reporter.h"
#include "inlier/v1/model_spec.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// What was not measured is empty.
struct OutlierReport {
  std::optional<OutlierSummary> summary;
  std::vector<SiteOutliers> sites;
  std::optional<TokenOutlierSummary> tokens;  // None without hidden states at the tap.
  std::vector<BlockTokenOutliers> blocks;
  std::vector<SixSigmaSite> ffn_six_sigma;
  std::optional<AttentionShares> attention;  // None without attention at the tap.
  std::vector<LayerAttention> attention_layers;
  std::vector<GateMean> gates;
};

class OutlierProbe {
 public:
  // For `model`, of `architecture`. Of `options` it reads how to measure; which batches is the caller's choice.
  // REQUIRES: kurtosis_batches >= 1.
  OutlierProbe(const Model& model, v1::ModelSpec::ArchitectureCase architecture, int kurtosis_batches,
               const v1::OutlierSpec& options, v1::EvaluationSpec::Measure measure = v1::EvaluationSpec::ALL);

  // The recorders of `measure`, to be chained after a quantizing tap where there is one; they live as long as the probe.
  std::vector<ActivationTap*> taps();

  // REQUIRES: at least one batch has been seen.
  OutlierReport Report() const;

 private:
  v1::EvaluationSpec::Measure measure_;
  ActivationRecorder activations_;
  TokenOutlierRecorder tokens_;
  SixSigmaRecorder six_sigma_;
  AttentionRecorder attention_;
};

void ReportOutliers(const OutlierReport& report, MeasurementReporter& reporter);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_OUTLIER_PROBE_H_
