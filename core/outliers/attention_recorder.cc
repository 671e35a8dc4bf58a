#include "core/outliers/attention_recorder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "core/nn/attention/attention_frame.h"

namespace inlier {
namespace {

// Indices into Layer::sums.
enum Sum {
  kFirst,
  kFirstOfQuery1,
  kMass,
  kMassOfQuery1,
  kMassNormalised,
  kUniform,
  kUniformOfQuery1,
  kEntropy,
  kLargest,
  kZeros,
  kZeroRows,
  kQueries,
  kFirstQueries,
  kWeights  // Of visible keys.
};

// The record of `site`, made at its first use.
template <typename Record>
Record& FindOrAdd(std::vector<Record>& records, const std::string& site) {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&site](const Record& record) { return record.site == site; });
  if (found != records.end()) return *found;
  records.emplace_back().site = site;
  return records.back();
}

// The queries of a batch of attention weights, and the keys that they may see.
class Queries {
 public:
  // unseen: (B or 1, 1, T, T), or undefined: by `frame`.
  Queries(const TokenMask& mask, const FrameOptions& frame, const at::Tensor& unseen,
          const at::Tensor& weights)
      : mask_(mask), unseen_(unseen) {
    const std::int64_t tokens = weights.size(2);
    at::Tensor real;
    if (mask.padding.defined()) {
      TORCH_CHECK(mask.padding.size(0) == weights.size(0) && mask.padding.size(1) == tokens,
                  "attention weights of shape ", weights.sizes(), " are not those of a batch of shape ",
                  mask.padding.sizes());
      real = mask.padding.logical_not();
    }
    if (unseen_.defined()) {
      at::Tensor seen = unseen_.logical_not();
      if (real.defined()) seen = seen.logical_and(real.unsqueeze(1).unsqueeze(2));
      visible_keys_ = seen.sum(3).to(at::kDouble);
      sees_first_ = OfFirstKey(seen);
      return;
    }
    visible_keys_ = VisibleKeys(frame, real, tokens, weights.options().dtype(at::kDouble))
                        .squeeze(3)
                        .expand({-1, 1, tokens});
    if (frame.causal) unseen_ = FutureKeys(frame, tokens, weights.options());
  }

  // Of x, (B or 1, 1 or H, T): the sum over the queries that count, and over the first of each sequence.
  at::Tensor Sum(const at::Tensor& x) const {
    return mask_.padding.defined() ? x.masked_fill(mask_.padding.unsqueeze(1), 0).sum() : x.sum();
  }
  at::Tensor FirstSum(const at::Tensor& x) const {
    return mask_.padding.defined() ? x.masked_fill(mask_.not_first.unsqueeze(1), 0).sum()
                                   : x.select(2, 0).sum();
  }
  // x: (B, H, T) -> (B, H): the mean over a sequence's queries, 0 where all is padding.
  at::Tensor MeanBySequence(const at::Tensor& x) const {
    if (!mask_.padding.defined()) return x.mean(2);
    const at::Tensor queries = mask_.padding.logical_not().sum(1, /*keepdim=*/true).clamp_min(1);
    return x.masked_fill(mask_.padding.unsqueeze(1), 0).sum(2) / queries;
  }
  // (B, H, T, T) -> (B, H, T): those of the first key.
  at::Tensor OfFirstKey(const at::Tensor& weights) const {
    if (!mask_.padding.defined()) return weights.select(3, 0);
    const at::Tensor key = mask_.first.view({-1, 1, 1, 1});
    return weights.gather(3, key.expand({weights.size(0), weights.size(1), weights.size(2), 1})).squeeze(3);
  }
  // (B, H, T, T) bool, changed: false where the query does not count or does not see the key.
  at::Tensor Visible(at::Tensor flags) const {
    if (unseen_.defined()) flags.masked_fill_(unseen_, false);
    if (!mask_.padding.defined()) return flags;
    return flags.masked_fill_(mask_.padding.unsqueeze(1).unsqueeze(3), false)
        .masked_fill_(mask_.padding.unsqueeze(1).unsqueeze(2), false);
  }
  const at::Tensor& visible_keys() const { return visible_keys_; }  // (B or 1, 1, T) double.
  // (B or 1, 1, T): the weight of the first key where all visible ones have the same; 0 where it is not one of them.
  at::Tensor UniformMass() const {
    const at::Tensor mass = visible_keys_.reciprocal();
    return sees_first_.defined() ? mass.masked_fill(sees_first_.logical_not(), 0) : mass;
  }

 private:
  const TokenMask& mask_;
  at::Tensor unseen_;  // Undefined where every query sees all.
  at::Tensor visible_keys_;
  at::Tensor sees_first_;  // (B or 1, 1, T) bool; undefined where every query does.
};

// Of rows of weights, (…, keys), whose sums are `total`.
at::Tensor Entropy(const at::Tensor& weights, const at::Tensor& total) {
  // The logarithm of a weight of 0 is finite, so that its term is 0.
  at::Tensor terms = weights.clamp_min(std::numeric_limits<float>::min()).log_();
  terms = terms.mul_(weights).sum(-1, /*keepdim=*/false, at::kDouble);
  return total.log().sub_(terms.div_(total)).masked_fill_(total.eq(0), 0);
}

}  // namespace

void AttentionRecorder::OnPass(const at::Tensor& attention_mask) {
  if (!options_.count_padding) mask_ = MakeTokenMask(attention_mask);
}

at::Tensor AttentionRecorder::OnActivation(const std::string& site, const at::Tensor& activation) {
  if (site.ends_with(".probs")) RecordWeights(site, activation);
  if (site.ends_with(".gate")) RecordGate(site, activation);
  return activation;
}

void AttentionRecorder::RecordWeights(const std::string& site, const at::Tensor& all_weights) {
  INLIER_CHECK(all_weights.dim() == 4 && all_weights.numel() > 0);
  const c10::NoGradGuard no_grad;
  const at::Tensor weights =
      all_weights.slice(3, 0, all_weights.size(2));  // Tokens are keys as they are queries.
  const Queries queries(mask_, {.causal = causal_, .prefix = options_.prefix_tokens},
                        std::exchange(unseen_, {}), weights);
  const at::Tensor first = queries.OfFirstKey(weights).to(at::kDouble);  // (B, H, T)
  const at::Tensor largest = weights.amax(3).to(at::kDouble);
  const at::Tensor total = weights.sum(3, /*keepdim=*/false, at::kDouble);
  const at::Tensor dominated = first.eq(largest).logical_and_(first.gt(0)).to(at::kDouble);
  const at::Tensor normalised = first.div(total).masked_fill_(total.eq(0), 0);
  const at::Tensor ones = at::ones_like(first);
  const at::Tensor uniform = ones * queries.UniformMass();
  const at::Tensor sums = at::stack(
      {queries.Sum(dominated), queries.FirstSum(dominated), queries.Sum(first), queries.FirstSum(first),
       queries.Sum(normalised), queries.Sum(uniform), queries.FirstSum(uniform),
       queries.Sum(Entropy(weights, total)), queries.Sum(largest),
       queries.Visible(weights.eq(0)).sum().to(at::kDouble), queries.Sum(largest.eq(0).to(at::kDouble)),
       queries.Sum(ones), queries.FirstSum(ones), queries.Sum(ones * queries.visible_keys())});
  // NaN is neither the largest nor zero: it is added so that it shows.
  const at::Tensor visible_nan = queries.Sum(largest).mul_(0);
  const at::Tensor sinks =
      queries.MeanBySequence(first).gt(options_.sink_threshold).sum(0).to(at::kDouble) + visible_nan;
  sums.slice(0, 0, kQueries).add_(visible_nan);  // The counts stay.

  Layer& layer = FindOrAdd(layers_, site);
  layer.sums = layer.sums.defined() ? layer.sums + sums : sums;
  layer.sinks = layer.sinks.defined() ? layer.sinks + sinks : sinks;
}

void AttentionRecorder::RecordGate(const std::string& site, const at::Tensor& values) {
  const c10::NoGradGuard no_grad;
  // (B, heads, T, 1), elementwise (B, heads, T, h), or without tokens.
  const at::Tensor& padding = mask_.padding;
  const bool by_token = padding.defined() && values.dim() == 4 && values.size(2) == padding.size(1);
  const at::Tensor hidden = by_token ? padding.unsqueeze(1).unsqueeze(3) : at::Tensor();
  const at::Tensor sum = (by_token ? values.masked_fill(hidden, 0) : values).sum(at::kDouble);
  at::Tensor count = at::full({}, values.numel(), sum.options());
  if (by_token) count -= hidden.sum() * values.size(1) * values.size(3);
  const at::Tensor sums = at::stack({sum, count});
  Gate& gate = FindOrAdd(gates_, site);
  gate.sums = gate.sums.defined() ? gate.sums + sums : sums;
}

at::Tensor AttentionRecorder::SinkShares(const Layer& layer) {
  const at::Tensor sequences = layer.sums[kFirstQueries] / layer.sinks.size(0);
  return (layer.sinks / sequences).to(at::kCPU);
}

AttentionShares AttentionRecorder::SharesOf(const at::Tensor& sums, const at::Tensor& sink_shares) {
  const auto sum = [on_cpu = sums.to(at::kCPU)](Sum which) { return on_cpu[which].item<double>(); };
  const double queries = sum(kQueries);
  AttentionShares shares;
  shares.first_share = sum(kFirst) / queries;
  shares.first_key_mass = sum(kMass) / queries;
  shares.first_key_mass_normalised = sum(kMassNormalised) / queries;
  shares.uniform_first_key_mass = sum(kUniform) / queries;
  if (sum(kQueries) > sum(kFirstQueries)) {
    const double later = sum(kQueries) - sum(kFirstQueries);
    shares.first_share_without_query1 = (sum(kFirst) - sum(kFirstOfQuery1)) / later;
    shares.first_key_mass_without_query1 = (sum(kMass) - sum(kMassOfQuery1)) / later;
    shares.uniform_first_key_mass_without_query1 = (sum(kUniform) - sum(kUniformOfQuery1)) / later;
  }
  shares.sink_rate = sink_shares.mean().item<double>();
  shares.entropy = sum(kEntropy) / queries;
  shares.max_weight = sum(kLargest) / queries;
  shares.zero_share = sum(kZeros) / sum(kWeights);
  shares.zero_row_share = sum(kZeroRows) / queries;
  return shares;
}

std::vector<LayerAttention> AttentionRecorder::Layers() const {
  std::vector<LayerAttention> layers;
  for (const Layer& layer : layers_) {
    layers.push_back({.site = layer.site,
                      .shares = SharesOf(layer.sums, SinkShares(layer)),
                      .queries = static_cast<std::int64_t>(layer.sums[kQueries].item<double>())});
  }
  return layers;
}

std::optional<AttentionShares> AttentionRecorder::Summary() const {
  if (layers_.empty()) return std::nullopt;
  at::Tensor sums;
  std::vector<at::Tensor> sink_shares;
  for (const Layer& layer : layers_) {
    sums = sums.defined() ? sums + layer.sums : layer.sums;
    sink_shares.push_back(SinkShares(layer));
  }
  return SharesOf(sums, at::cat(sink_shares));
}

std::vector<GateMean> AttentionRecorder::Gates() const {
  std::vector<GateMean> means;
  for (const Gate& gate : gates_)
    means.push_back({.site = gate.site, .mean = gate.sums[0].item<double>() / gate.sums[1].item<double>()});
  return means;
}

}  // namespace inlier
