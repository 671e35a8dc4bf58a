// Where the outliers are: elements of the outputs of the feed-forward networks beyond six standard deviations, by token
// position and by hidden dimension, over an evaluation. A tap (core/nn/activation_tap.h) that passes all tensors unchanged.
//
// An element counts where |x - mean| > 6 standard deviations of its sequence's (T, d) at the output of the second linear
// of a layer's feed-forward network (IsFfnOutputSite of core/models/sites.h).   (Bondarenko et al. 2023, section 3 and figure 1)
// Padding is left out of both; with count_padding it is measured like text (docs/decisions/0024-padding.md).
//
// REQUIRES: the sequences of all batches have the same T. On a GPU no call before Sites() waits for
// the device.
#ifndef INLIER_CORE_OUTLIERS_SIX_SIGMA_RECORDER_H_
#define INLIER_CORE_OUTLIERS_SIX_SIGMA_RECORDER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/nn/activation_tap.h"
#include "core/nn/token_mask.h"

namespace inlier {

struct SixSigmaSite {
  std::string site;
  double mean_count = 0;     // Of a sequence; NaN where an element was NaN.
  at::Tensor per_position;   // (T) int64, on the CPU.
  at::Tensor per_dimension;  // (d) int64, on the CPU.
};

class SixSigmaRecorder : public ActivationTap {
 public:
  explicit SixSigmaRecorder(bool count_padding = false) : count_padding_(count_padding) {}

  void OnPass(const at::Tensor& attention_mask) override;
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;

  // Every layer, in order of first use.
  std::vector<SixSigmaSite> Sites() const;

 private:
  struct Record {
    std::string site;
    std::int64_t sequences = 0;
    at::Tensor per_position;  // On the device. The same for the next two.
    at::Tensor per_dimension;
    at::Tensor visible_nan;  // 0, or NaN.
  };

  const bool count_padding_;
  TokenMask mask_;              // Of this pass. The same for the next.
  std::int64_t sequences_ = 0;  // In the batch.
  std::vector<Record> records_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OUTLIERS_SIX_SIGMA_RECORDER_H_
