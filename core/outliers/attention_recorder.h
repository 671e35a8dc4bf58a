// Attention over an evaluation: the share on the first token, the share of exact zeros, and the openness of
// gates. A tap (core/nn/activation_tap.h) that passes all tensors unchanged.
//
// A[q, k] are the weights at the sites "….probs" (core/models/sites.h): (B, H, T, T), after the normaliser,
// rows = queries; tokens count from 1. Means are over layers, sequences, heads and queries:
//
//   first_share        share of queries with A[q, 1] = max_k A[q, k] > 0: they attend to the first token most
//   first_key_mass     mean of A[q, 1]
//   ..._normalised     mean of A[q, 1] / sum_k A[q, k], 0 for a row of zeros
//   ..._without_query1 over q = 2 .. T, because in a causal model query 1 sees nothing else
//   zero_share         share of the weights of visible keys that are exactly 0; causal: k <= q is visible
//   zero_row_share     share of queries whose weights are all 0
//
// (Kaul et al. 2025; Bondarenko et al. 2023 for the zeros that clipped softmax is to allow.)
// Padding counts as tokens. Sums stay on the device. A NaN anywhere makes every number of its layer, and of
// the summary, NaN.
//
// Thread safety: none. On a GPU no call before Layers(), Summary() or Gates() waits for the device.
#ifndef INLIER_CORE_OUTLIERS_ATTENTION_RECORDER_H_
#define INLIER_CORE_OUTLIERS_ATTENTION_RECORDER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/activation_tap.h"

namespace inlier {

struct AttentionShares {
  double first_share = 0;
  double first_key_mass = 0;
  double first_key_mass_normalised = 0;
  std::optional<double> first_share_without_query1;  // Nothing when every sequence had one token.
  std::optional<double> first_key_mass_without_query1;
  double zero_share = 0;
  double zero_row_share = 0;
};

struct LayerAttention {
  std::string site;
  AttentionShares shares;
  std::int64_t queries = 0;  // Of all sequences and heads.
};

struct GateMean {
  std::string site;
  double mean = 0;  // Of the gates' values, before the output factor.
};

class AttentionRecorder : public ActivationTap {
 public:
  explicit AttentionRecorder(bool causal) : causal_(causal) {}

  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;

  // Every layer, in order of first use.
  std::vector<LayerAttention> Layers() const;

  // All layers together. Nothing where no attention was seen.
  std::optional<AttentionShares> Summary() const;

  // Every gate, in order of first use; empty for a model without gates.
  std::vector<GateMean> Gates() const;

 private:
  struct Layer {
    std::string site;
    std::int64_t queries = 0;
    std::int64_t first_queries = 0;
    std::int64_t weights = 0;  // Of visible keys.
    at::Tensor sums;           // As listed in the source; on the device, in double.
  };
  struct Gate {
    std::string site;
    std::int64_t values = 0;
    at::Tensor sum;
  };

  void RecordWeights(const std::string& site, const at::Tensor& weights);
  void RecordGate(const std::string& site, const at::Tensor& values);
  static AttentionShares SharesOf(const Layer& layer);

  const bool causal_;
  std::vector<Layer> layers_;
  std::vector<Gate> gates_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OUTLIERS_ATTENTION_RECORDER_H_
