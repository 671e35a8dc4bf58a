// Everything that is measured inside a model while it runs, gathered from the recorders of core/outliers: at
// the end of training over the whole validation part, and while it trains on one batch of it.
//
// Thread safety: none. On a GPU nothing waits for the device before Report().
#ifndef INLIER_CORE_TRAIN_OUTLIER_PROBE_H_
#define INLIER_CORE_TRAIN_OUTLIER_PROBE_H_

#include <optional>
#include <vector>

#include "core/models/model.h"
#include "core/outliers/activation_recorder.h"
#include "core/outliers/attention_recorder.h"
#include "core/outliers/token_outlier_recorder.h"
#include "core/train/measurement_writer.h"
#include "inlier/v1/model_spec.pb.h"

namespace inlier {

struct OutlierReport {
  OutlierSummary summary;
  std::vector<SiteOutliers> sites;
  std::optional<TokenOutlierSummary> tokens;  // Nothing where the model shows no hidden states.
  std::vector<BlockTokenOutliers> blocks;
  std::optional<AttentionShares> attention;  // Nothing where the model shows no attention.
  std::vector<LayerAttention> attention_layers;
  std::vector<GateMean> gates;
};

class OutlierProbe {
 public:
  // For `model`, of `architecture`.  REQUIRES: kurtosis_batches >= 1.
  OutlierProbe(const Model& model, v1::ModelSpec::ArchitectureCase architecture, int kurtosis_batches);

  // The recorders, to be chained behind a quantizing tap where there is one; they live as long as the probe.
  std::vector<ActivationTap*> taps() { return {&activations_, &tokens_, &attention_}; }

  // REQUIRES: at least one batch has been seen.
  OutlierReport Report() const;

 private:
  ActivationRecorder activations_;
  TokenOutlierRecorder tokens_;
  AttentionRecorder attention_;
};

// Writes every number of `report`.
void ReportOutliers(const OutlierReport& report, MeasurementWriter& writer);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_OUTLIER_PROBE_H_
