// Outliers in the hidden states of single tokens, the first of each sequence apart from the rest, over an
// evaluation, as a tap (core/nn/activation_tap.h) that passes all tensors unchanged.
//
// Measured at the output of each block, (B, T, d), after its last residual sum and before the final norm (block_site.h).
//
//   kurtosis         per token (token_metrics.h); mean over the group's tokens and sequences, then blocks
//   norm_ratio       the same
//   max_abs          largest |x| over the group's tokens, sequences and features; mean over blocks. It grows with the
//                    number of sequences
//   mean_max_abs     largest |x| over a sequence's tokens and features; mean over sequences, then blocks
//   six_sigma_count  elements of a sequence's (T, d) with |x - mean| > 6 standard deviations; mean over sequences
//   massive_count    elements of a sequence's (T, d) that are massive (outlier_metrics.h); mean over sequences
//
// (Kaul et al. 2025; Bondarenko et al. 2023, section 3; Sun et al. 2024.) Groups: token 1, tokens 2 .. T. Padding does not
// count, and token 1 is the first real one; with count_padding all count (docs/decisions/0024-padding.md). Sums stay on
// the device; nothing is kept for a token. A NaN anywhere makes the numbers of its block, and every mean over blocks, NaN.
//
// On a GPU no call before Blocks() or Summary() waits for the device.
#ifndef INLIER_CORE_OUTLIERS_TOKEN_OUTLIER_RECORDER_H_
#define INLIER_CORE_OUTLIERS_TOKEN_OUTLIER_RECORDER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/activation_tap.h"
#include "core/nn/token_mask.h"
#include "inlier/v1/model_spec.pb.h"

namespace inlier {

// One group of tokens.
struct TokenOutliers {
  double kurtosis = 0;
  double norm_ratio = 0;
  double max_abs = 0;
  double mean_max_abs = 0;
};

struct BlockTokenOutliers {
  std::string site;
  std::int64_t width = 0;  // d
  TokenOutliers first;
  std::optional<TokenOutliers> rest;  // Nothing when every sequence had one token.
  double kurtosis = 0;                // All tokens.
  double six_sigma_count = 0;
  double massive_count = 0;
};

struct TokenGroupSummary : TokenOutliers {
  // Kurtosis / (d - 2), about the largest that d features can have; nothing for d <= 2.
  std::optional<double> over_ceiling;
  // Correlation over blocks of kurtosis and norm_ratio; nothing for two blocks or fewer, or where one does not vary.
  std::optional<double> pearson;
};

// Means over the blocks.
struct TokenOutlierSummary {
  TokenGroupSummary first;
  std::optional<TokenGroupSummary> rest;
  double kurtosis = 0;
  double massive_count = 0;  // Of the block that has most: the same elements pass through many blocks.
};

class TokenOutlierRecorder : public ActivationTap {
 public:
  explicit TokenOutlierRecorder(v1::ModelSpec::ArchitectureCase architecture, bool count_padding = false)
      : architecture_(architecture), count_padding_(count_padding) {}

  void OnPass(const at::Tensor& attention_mask) override;
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;

  // Every block, by number.
  std::vector<BlockTokenOutliers> Blocks() const;

  // Nothing without a block.
  std::optional<TokenOutlierSummary> Summary() const;

 private:
  struct Block {
    std::string site;
    std::int64_t width = 0;
    at::Tensor sums;    // Of the metrics, as listed in the source; on the device, in double.
    at::Tensor maxima;  // Of the two groups.
  };

  const v1::ModelSpec::ArchitectureCase architecture_;
  const bool count_padding_;
  TokenMask mask_;  // Of this pass.
  std::map<int, Block> blocks_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OUTLIERS_TOKEN_OUTLIER_RECORDER_H_
