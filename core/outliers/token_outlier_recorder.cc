#include "core/outliers/token_outlier_recorder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "core/outliers/block_site.h"
#include "core/outliers/outlier_metrics.h"
#include "core/outliers/token_metrics.h"

namespace inlier {
namespace {

// Indices into Block::sums and Block::maxima.
enum SumOf {
  kFirstKurtosis,
  kRestKurtosis,
  kFirstRatio,
  kRestRatio,
  kSixSigma,
  kMassiveElements,
  kSequences,
  kLaterTokens,  // 2 .. T, of all sequences.
  kFirstMaxima,  // Of the sequences' maxima.
  kRestMaxima,
  kLongSequences  // Sequences with later tokens.
};
enum MaximumOf { kFirstMaximum, kRestMaximum };

// Sums over the two groups of tokens of a batch; x is (B, T).
struct TokenGroups {
  const TokenMask& mask;

  at::Tensor First(const at::Tensor& x) const {
    return mask.padding.defined() ? x.masked_fill(mask.not_first, 0).sum() : x.select(1, 0).sum();
  }
  at::Tensor Rest(const at::Tensor& x) const {
    return mask.padding.defined() ? x.masked_fill(mask.not_later, 0).sum() : x.slice(1, 1).sum();
  }
  at::Tensor All(const at::Tensor& x) const {
    return mask.padding.defined() ? x.masked_fill(mask.padding, 0).sum() : x.sum();
  }
  // (B): the largest x >= 0 of each sequence; 0 in a group without tokens.
  at::Tensor LargestFirst(const at::Tensor& x) const {
    return mask.padding.defined() ? x.masked_fill(mask.not_first, 0).amax(1) : x.select(1, 0);
  }
  at::Tensor LargestRest(const at::Tensor& x) const {
    if (mask.padding.defined()) return x.masked_fill(mask.not_later, 0).amax(1);
    return x.size(1) > 1 ? x.slice(1, 1).amax(1) : x.select(1, 0) * 0;
  }
};

double Pearson(const std::vector<double>& x, const std::vector<double>& y) {
  const double size = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / size;
    mean_y += y[i] / size;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xy / std::sqrt(xx * yy);
}

bool Varies(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [&](double value) { return value != values[0]; });
}

TokenGroupSummary Summarise(const std::vector<TokenOutliers>& blocks, std::int64_t width) {
  const double size = static_cast<double>(blocks.size());
  TokenGroupSummary group;
  std::vector<double> kurtoses, ratios;
  for (const TokenOutliers& block : blocks) {
    group.kurtosis += block.kurtosis / size;
    group.norm_ratio += block.norm_ratio / size;
    group.max_abs += block.max_abs / size;
    group.mean_max_abs += block.mean_max_abs / size;
    kurtoses.push_back(block.kurtosis);
    ratios.push_back(block.norm_ratio);
  }
  if (width > 2) group.over_ceiling = group.kurtosis / static_cast<double>(width - 2);
  if (blocks.size() > 2 && Varies(kurtoses) && Varies(ratios)) group.pearson = Pearson(kurtoses, ratios);
  return group;
}

}  // namespace

void TokenOutlierRecorder::OnPass(const at::Tensor& attention_mask) {
  if (!count_padding_) mask_ = MakeTokenMask(attention_mask);
}

at::Tensor TokenOutlierRecorder::OnActivation(const std::string& site, const at::Tensor& activation) {
  const std::optional<int> number = BlockOfSite(architecture_, site);
  if (!number) return activation;
  INLIER_CHECK(activation.dim() == 3 && activation.numel() > 0);
  const c10::NoGradGuard no_grad;
  const at::Tensor kurtosis = TokenKurtosis(activation).to(at::kDouble);  // (B, T)
  const at::Tensor ratio = TokenNormRatio(activation).to(at::kDouble);
  const at::Tensor largest = activation.detach().abs().amax(2).to(at::kDouble);
  const at::Tensor padding = PaddingOf(mask_, activation), ones = at::ones_like(kurtosis);
  const TokenGroups groups{mask_};
  // NaN is not beyond any threshold: it is added so that it shows.
  const at::Tensor visible_nan = groups.All(kurtosis).mul_(0);
  const at::Tensor six_sigma =
      BeyondSixSigma(activation, SixSigmaScope::kSequence, padding).sum().to(at::kDouble);
  const at::Tensor massive = MassiveActivations(activation, padding).sum().to(at::kDouble);
  const at::Tensor first_maxima = groups.LargestFirst(largest), rest_maxima = groups.LargestRest(largest);
  const at::Tensor sums =
      at::stack({groups.First(kurtosis), groups.Rest(kurtosis), groups.First(ratio), groups.Rest(ratio),
                 six_sigma + visible_nan, massive + visible_nan, groups.First(ones), groups.Rest(ones),
                 first_maxima.sum(), rest_maxima.sum(), groups.LargestRest(ones).sum()});
  const at::Tensor maxima = at::stack({first_maxima.amax(), rest_maxima.amax()});

  Block& block = blocks_[*number];
  block.site = site;
  block.width = activation.size(2);
  block.sums = block.sums.defined() ? block.sums + sums : sums;
  block.maxima = block.maxima.defined() ? at::maximum(block.maxima, maxima) : maxima;
  return activation;
}

std::vector<BlockTokenOutliers> TokenOutlierRecorder::Blocks() const {
  std::vector<BlockTokenOutliers> blocks;
  for (const auto& [number, block] : blocks_) {
    const at::Tensor sums = block.sums.to(at::kCPU), maxima = block.maxima.to(at::kCPU);
    const auto sum = [&sums](SumOf which) { return sums[which].item<double>(); };
    const auto maximum = [&maxima](MaximumOf which) { return maxima[which].item<double>(); };
    const double sequences = sum(kSequences), later = sum(kLaterTokens);
    BlockTokenOutliers result;
    result.site = block.site;
    result.width = block.width;
    result.first = {.kurtosis = sum(kFirstKurtosis) / sequences,
                    .norm_ratio = sum(kFirstRatio) / sequences,
                    .max_abs = maximum(kFirstMaximum),
                    .mean_max_abs = sum(kFirstMaxima) / sequences};
    if (later > 0) {
      result.rest = {.kurtosis = sum(kRestKurtosis) / later,
                     .norm_ratio = sum(kRestRatio) / later,
                     .max_abs = maximum(kRestMaximum),
                     .mean_max_abs = sum(kRestMaxima) / sum(kLongSequences)};
    }
    result.kurtosis = (sum(kFirstKurtosis) + sum(kRestKurtosis)) / (sequences + later);
    result.six_sigma_count = sum(kSixSigma) / sequences;
    result.massive_count = sum(kMassiveElements) / sequences;
    blocks.push_back(std::move(result));
  }
  return blocks;
}

std::optional<TokenOutlierSummary> TokenOutlierRecorder::Summary() const {
  const std::vector<BlockTokenOutliers> blocks = Blocks();
  if (blocks.empty()) return std::nullopt;
  TokenOutlierSummary summary;
  std::vector<TokenOutliers> first, rest;
  for (const BlockTokenOutliers& block : blocks) {
    first.push_back(block.first);
    if (block.rest) rest.push_back(*block.rest);
    summary.kurtosis += block.kurtosis / static_cast<double>(blocks.size());
    // NaN stays: no comparison with it is true.
    if (!(block.massive_count <= summary.massive_count) && !std::isnan(summary.massive_count))
      summary.massive_count = block.massive_count;
  }
  summary.first = Summarise(first, blocks[0].width);
  if (!rest.empty()) summary.rest = Summarise(rest, blocks[0].width);
  return summary;
}

}  // namespace inlier
