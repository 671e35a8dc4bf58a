// Attention over an evaluation: the share on the first token, sinks, entropy, the share of exact zeros, and the openness
// of gates. A tap (core/nn/activation_tap.h) that passes all tensors unchanged.
//
// A[q, k] are the weights at the sites "….probs" (core/models/sites.h): (B, H, T, T), after the normaliser,
// rows = queries; tokens count from 1. A learned key behind the tokens (AttentionSpec.key_value_bias) is left out, as null
// keys are, so that a row sums to less than 1. Means are over layers, sequences, heads and queries:
//
//   first_share        share of queries with A[q, 1] = max_k A[q, k] > 0: they attend to the first token most
//   first_key_mass     mean of A[q, 1]
//   ..._normalised     mean of A[q, 1] / sum_k A[q, k], 0 for a row of zeros
//   ..._without_query1 over q = 2 .. T, because in a causal model query 1 sees nothing else
//   uniform_...        mean of 1 / (keys that q may see), 0 where token 1 is not one of them: first_key_mass where attention is
//                      uniform, and the first_share that is to be expected where it does not depend on the position
//   sink_rate          share of heads, over layers, whose first_key_mass in a sequence exceeds sink_threshold, mean over
//                      the sequences (Gu et al. 2025)
//   entropy            mean of - sum_k a[k] ln a[k], a = A[q, k] / sum_k A[q, k]; 0 for a row of zeros
//   max_weight         mean of max_k A[q, k]
//   zero_share         share of the weights of visible keys that are exactly 0; causal: k <= q is visible
//   zero_row_share     share of queries whose weights are all 0
//
// (Kaul et al. 2025; Gu et al. 2025, section 3.2, for sinks; Bondarenko et al. 2023 for the zeros that clipped softmax is
// to allow.) Padding counts neither as query nor as visible key, and token 1 is the first that is not padding; with
// count_padding all are tokens (docs/decisions/0024-padding.md). Sums stay on the device. A NaN anywhere makes every
// number of its layer, and of the summary, NaN.
//
// On a GPU no call before Layers(), Summary() or Gates() waits for the device.
#ifndef INLIER_CORE_OUTLIERS_ATTENTION_RECORDER_H_
#define INLIER_CORE_OUTLIERS_ATTENTION_RECORDER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/activation_tap.h"
#include "core/nn/token_mask.h"

namespace inlier {

struct AttentionShares {
  double first_share = 0;
  double first_key_mass = 0;
  double first_key_mass_normalised = 0;
  std::optional<double> first_share_without_query1;  // Nothing when every sequence had one token.
  std::optional<double> first_key_mass_without_query1;
  double uniform_first_key_mass = 0;
  std::optional<double> uniform_first_key_mass_without_query1;
  double sink_rate = 0;
  double entropy = 0;
  double max_weight = 0;
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

struct AttentionRecorderOptions {
  bool count_padding = false;
  double sink_threshold = 0.3;
  std::int64_t prefix_tokens = 0;  // Of a causal model: the first so many see each other.
};

class AttentionRecorder : public ActivationTap {
 public:
  explicit AttentionRecorder(bool causal, const AttentionRecorderOptions& options = {})
      : causal_(causal), options_(options) {}

  void OnPass(const at::Tensor& attention_mask) override;
  void OnUnseenKeys(const at::Tensor& unseen) override { unseen_ = unseen; }
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
    at::Tensor sums;   // As listed in the source; on the device, in double. The same for the next.
    at::Tensor sinks;  // (H): sequences in which the head is a sink.
  };
  struct Gate {
    std::string site;
    at::Tensor sums;  // Of values, and their number.
  };

  void RecordWeights(const std::string& site, const at::Tensor& all_weights);
  void RecordGate(const std::string& site, const at::Tensor& values);
  // (H), on the CPU: the share of sequences in which each head is a sink.
  static at::Tensor SinkShares(const Layer& layer);
  static AttentionShares SharesOf(const at::Tensor& sums, const at::Tensor& sink_shares);

  const bool causal_;
  const AttentionRecorderOptions options_;
  TokenMask mask_;     // Of this pass.
  at::Tensor unseen_;  // Of the next weights; undefined: by causal and prefix_tokens.
  std::vector<Layer> layers_;
  std::vector<Gate> gates_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OUTLIERS_ATTENTION_RECORDER_H_
