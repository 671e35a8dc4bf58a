#include "core/outliers/attention_recorder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace inlier {
namespace {

// Indices into Layer::sums.
enum Sum { kFirst, kFirstOfQuery1, kMass, kMassOfQuery1, kMassNormalised, kZeros, kZeroRows };

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The record of `site`, made at its first use.
template <typename Record>
Record& FindOrAdd(std::vector<Record>& records, const std::string& site) {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&site](const Record& record) { return record.site == site; });
  if (found != records.end()) return *found;
  records.emplace_back().site = site;
  return records.back();
}

}  // namespace

at::Tensor AttentionRecorder::OnActivation(const std::string& site, const at::Tensor& activation) {
  if (EndsWith(site, ".probs")) RecordWeights(site, activation);
  if (EndsWith(site, ".gate")) RecordGate(site, activation);
  return activation;
}

void AttentionRecorder::RecordWeights(const std::string& site, const at::Tensor& weights) {
  INLIER_CHECK(weights.dim() == 4 && weights.numel() > 0);
  const c10::NoGradGuard no_grad;
  const at::Tensor first = weights.select(3, 0).to(at::kDouble);  // (B, H, T)
  const at::Tensor largest = weights.amax(3).to(at::kDouble);
  const at::Tensor total = weights.sum(3, /*keepdim=*/false, at::kDouble);
  const at::Tensor dominated = first.eq(largest).logical_and_(first.gt(0)).to(at::kDouble);
  const at::Tensor normalised = first.div(total).masked_fill_(total.eq(0), 0);
  at::Tensor zeros = weights.eq(0);
  if (causal_) zeros = zeros.tril();
  const auto of_query1 = [](const at::Tensor& x) { return x.select(2, 0).sum(); };
  const at::Tensor sums =
      at::stack({dominated.sum(), of_query1(dominated), first.sum(), of_query1(first), normalised.sum(),
                 zeros.sum().to(at::kDouble), largest.eq(0).sum().to(at::kDouble)});
  // NaN is neither the largest nor zero: it is added so that it shows.
  const at::Tensor visible_nan = largest.sum().mul_(0);

  const std::int64_t rows = weights.size(0) * weights.size(1), tokens = weights.size(2);
  Layer& layer = FindOrAdd(layers_, site);
  layer.queries += rows * tokens;
  layer.first_queries += rows;
  layer.weights += rows * (causal_ ? tokens * (tokens + 1) / 2 : tokens * weights.size(3));
  layer.sums = layer.sums.defined() ? layer.sums + sums + visible_nan : sums + visible_nan;
}

void AttentionRecorder::RecordGate(const std::string& site, const at::Tensor& values) {
  const c10::NoGradGuard no_grad;
  const at::Tensor sum = values.sum(at::kDouble);
  Gate& gate = FindOrAdd(gates_, site);
  gate.values += values.numel();
  gate.sum = gate.sum.defined() ? gate.sum + sum : sum;
}

AttentionShares AttentionRecorder::SharesOf(const Layer& layer) {
  const at::Tensor sums = layer.sums.to(at::kCPU);
  const auto sum = [&sums](Sum which) { return sums[which].item<double>(); };
  const double queries = static_cast<double>(layer.queries);
  AttentionShares shares;
  shares.first_share = sum(kFirst) / queries;
  shares.first_key_mass = sum(kMass) / queries;
  shares.first_key_mass_normalised = sum(kMassNormalised) / queries;
  if (layer.queries > layer.first_queries) {
    const double later = static_cast<double>(layer.queries - layer.first_queries);
    shares.first_share_without_query1 = (sum(kFirst) - sum(kFirstOfQuery1)) / later;
    shares.first_key_mass_without_query1 = (sum(kMass) - sum(kMassOfQuery1)) / later;
  }
  shares.zero_share = sum(kZeros) / static_cast<double>(layer.weights);
  shares.zero_row_share = sum(kZeroRows) / queries;
  return shares;
}

std::vector<LayerAttention> AttentionRecorder::Layers() const {
  std::vector<LayerAttention> layers;
  for (const Layer& layer : layers_) {
    layers.push_back({.site = layer.site, .shares = SharesOf(layer), .queries = layer.queries});
  }
  return layers;
}

std::optional<AttentionShares> AttentionRecorder::Summary() const {
  if (layers_.empty()) return std::nullopt;
  Layer all;
  for (const Layer& layer : layers_) {
    all.queries += layer.queries;
    all.first_queries += layer.first_queries;
    all.weights += layer.weights;
    all.sums = all.sums.defined() ? all.sums + layer.sums : layer.sums;
  }
  return SharesOf(all);
}

std::vector<GateMean> AttentionRecorder::Gates() const {
  std::vector<GateMean> means;
  for (const Gate& gate : gates_) {
    means.push_back({.site = gate.site, .mean = gate.sum.item<double>() / static_cast<double>(gate.values)});
  }
  return means;
}

}  // namespace inlier
