#include "core/train/intervention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/models/sites.h"
#include "core/outliers/block_site.h"

namespace inlier {

absl::StatusOr<Intervention> Intervention::Create(const v1::InterventionSpec& spec,
                                                  v1::ModelSpec::ArchitectureCase architecture) {
  absl::StatusOr<HeadList> heads = ParseHeads(spec.heads_off());
  if (!heads.ok()) return Annotate(heads.status(), "evaluation.intervention.heads_off");
  return Intervention(spec, architecture, *std::move(heads));
}

Intervention::Intervention(const v1::InterventionSpec& spec, v1::ModelSpec::ArchitectureCase architecture,
                           HeadList heads)
    : spec_(spec), architecture_(architecture), heads_(heads), missing_(std::move(heads)) {}

at::Tensor Intervention::WithoutMassive(const at::Tensor& x) const {
  const at::Tensor size = x.abs();
  const at::Tensor median = std::get<0>(size.median(-1, /*keepdim=*/true));
  const at::Tensor massive =
      size.gt(spec_.massive_threshold()).logical_and_(size.gt(median * spec_.massive_ratio()));
  if (spec_.massive_activations() == v1::InterventionSpec::ZERO) return x.masked_fill(massive, 0);
  const at::Tensor tokens = massive.flatten(0, -2);
  const at::Tensor sum = x.flatten(0, -2).masked_fill(tokens.logical_not(), 0).sum(0);
  return at::where(massive, sum / tokens.sum(0).clamp_min(1), x);
}

at::Tensor Intervention::Weights(std::uint32_t layer, const at::Tensor& p) {
  at::Tensor changed = p;
  if (spec_.first_key() != v1::InterventionSpec::SEEN && p.size(2) > 1) {
    changed = p.clone();
    const at::Tensor queries = changed.slice(2, 1);
    const at::Tensor before = queries.sum(-1, /*keepdim=*/true);
    queries.select(-1, 0).zero_();
    if (spec_.first_key() == v1::InterventionSpec::RENORMALIZED) {
      const at::Tensor after = queries.sum(-1, /*keepdim=*/true);
      queries.mul_(before / after.masked_fill(after.eq(0), 1));
    }
  }
  for (const auto& [of_layer, head] : heads_) {
    if (of_layer != layer || head >= p.size(1)) continue;
    if (changed.is_same(p)) changed = p.clone();
    changed.select(1, head).zero_();
    missing_.erase({of_layer, head});
  }
  return changed;
}

at::Tensor Intervention::OnActivation(const std::string& site, const at::Tensor& activation) {
  if (spec_.massive_activations() != v1::InterventionSpec::KEPT && BlockOfSite(architecture_, site))
    return WithoutMassive(activation);
  if (!absl::EndsWith(site, ".probs")) return activation;
  const std::optional<std::int64_t> layer = LayerOf(site);
  return layer ? Weights(static_cast<std::uint32_t>(*layer), activation) : activation;
}

at::Tensor Intervention::OnValues(const std::string&, const at::Tensor& values) {
  return spec_.value_scale() == 1 ? values : values * spec_.value_scale();
}

absl::Status Intervention::CheckHeads() const {
  if (missing_.empty()) return absl::OkStatus();
  const auto& [layer, head] = *missing_.begin();
  return absl::InvalidArgumentError(absl::StrCat("evaluation.intervention.heads_off: the model has no head ",
                                                 layer, ".", head, ": layers and heads count from 0"));
}

}  // namespace inlier
