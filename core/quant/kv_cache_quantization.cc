#include "core/quant/kv_cache_quantization.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "core/nn/precision.h"
#include "core/quant/linear/linear_rotation.h"
#include "core/quant/part_grid.h"

namespace inlier {
namespace {

// x (…) in groups of `size` along `axis`, whose size is a multiple of it.
at::Tensor RoundGroupsFromMinimum(const at::Tensor& x, std::int64_t axis, std::int64_t size,
                                  std::uint32_t bits, SliceGrid& grid) {
  const double levels = static_cast<double>((std::int64_t{1} << bits) - 1);
  const at::Tensor groups = AtLeastFloat32(x).unflatten(axis, {x.size(axis) / size, size});
  const at::Tensor low = groups.amin(axis + 1, /*keepdim=*/true);
  const at::Tensor extent = groups.amax(axis + 1, /*keepdim=*/true).sub_(low);
  const at::Tensor scale = extent.div(at::full_like(extent, levels));
  grid = {.scale = scale, .zero_point = low.neg().div(scale), .integer_min = 0, .integer_max = levels};
  const at::Tensor rounded = groups.sub(low).div_(scale).clamp_(0, levels).round_().mul_(scale).add_(low);
  return at::where(scale.eq(0), groups, rounded).reshape(x.sizes()).to(x.scalar_type());
}

// x: (B, T, kv_heads, h). Keys behind the last whole residual stay as they are: no query sees them rounded.
at::Tensor RoundAsKivi(const at::Tensor& x, QuantizedPart part, const v1::KvCacheSpec& spec,
                       SliceGrid& grid) {
  const std::int64_t size = spec.kivi().group_size(), residual = spec.kivi().residual();
  if (part == QuantizedPart::kValues) return RoundGroupsFromMinimum(x, 3, size, spec.bits(), grid);
  const std::int64_t kept = x.size(1) / residual * residual;
  if (kept == 0) return x;
  return at::cat({RoundGroupsFromMinimum(x.slice(1, 0, kept), 1, size, spec.bits(), grid), x.slice(1, kept)},
                 1);
}

}  // namespace

CacheWindow KvCacheQuantization::WindowOf(std::int64_t tokens) {
  if (!frozen_ || !spec_.has_kivi()) return {};
  const std::int64_t residual = spec_.kivi().residual();
  const at::Tensor token = at::arange(tokens), query = token.unsqueeze(1);
  return {token >= query.div(residual, "floor").mul(residual), token >= query - residual};
}

absl::Status KvCacheQuantization::Learn(const LossOfUpdate& loss_of) {
  frozen_ = learns_ = true;
  const absl::Status done = scheme_->Learn(loss_of);
  frozen_ = learns_ = false;
  entries_.clear();
  return done;
}

absl::Status KvCacheQuantization::Freeze() {
  frozen_ = true;
  return scheme_->Freeze();
}

at::Tensor KvCacheQuantization::Round(const std::string& site, QuantizedPart part, const at::Tensor& x) {
  if (!frozen_ || x.numel() == 0) return x;
  const c10::AutoGradMode gradients(learns_);
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& candidate) {
    return candidate.part == part && candidate.site == site;
  });
  if (entry == entries_.end())
    entry = entries_.insert(entry, {.site = site, .part = part, .shape = x.sizes().vec(), .grid = {}});
  const at::Tensor rotation = RotationOf(site, part, x);
  if (!rotation.defined()) return RoundInBasis(x, part, entry->grid);
  return at::matmul(RoundInBasis(at::matmul(x, rotation), part, entry->grid), rotation.t());
}

at::Tensor KvCacheQuantization::RotationOf(const std::string& site, QuantizedPart part, const at::Tensor& x) {
  if (!rotation_seed_) return {};
  if (part == QuantizedPart::kValues) {
    if (const at::Tensor learned = LearnedRotationOf(site, x); learned.defined()) return learned;
  }
  if (!rotation_.defined() || rotation_.size(0) != x.size(-1) || rotation_.scalar_type() != x.scalar_type())
    rotation_ = RotationMatrix(*rotation_seed_, "kv_cache", x.size(-1)).to(x.options());
  return rotation_;
}

at::Tensor KvCacheQuantization::RoundInBasis(const at::Tensor& exact, QuantizedPart part,
                                             SliceGrid& grid) const {
  const at::Tensor x = exact.detach();
  at::Tensor rounded;
  if (spec_.has_kivi()) {
    rounded = RoundAsKivi(x, part, spec_, grid);
  } else {
    grid = ZeropointGrid(x, static_cast<int>(spec_.bits()), {-1});
    rounded = RoundToGrid(x, grid);
  }
  return learns_ ? StraightThrough(exact, rounded) : rounded;
}

std::vector<QuantizerReport> KvCacheQuantization::Table() const {
  std::vector<QuantizerReport> table = scheme_->Table();
  int order = table.empty() ? 0 : table.back().order + 1;
  for (const Entry& entry : entries_) {
    if (!entry.grid.scale.defined()) continue;  // Keys of fewer tokens than the residual.
    table.push_back({.order = order++,
                     .site = entry.site,
                     .part = entry.part,
                     .bits = static_cast<int>(spec_.bits()),
                     .symmetric = false,
                     .is_signed = false,
                     .shape = entry.shape,
                     .grid = ReportedGrid(entry.grid)});
  }
  return table;
}

std::optional<Rounding> KvCacheQuantization::RoundingOf(const std::string& site, QuantizedPart part,
                                                        const at::Tensor& tensor, const at::Tensor& used) {
  if (part == QuantizedPart::kKeys || part == QuantizedPart::kValues)
    return Quantization::RoundingOf(site, part, tensor, used);
  return scheme_->RoundingOf(site, part, tensor, used);
}

}  // namespace inlier
