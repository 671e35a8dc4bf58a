#include "core/quant/linear/linear_transform.h"

#include <ATen/TensorOperators.h>

#include "base/check.h"

namespace inlier {

LinearTransform::LinearTransform(const LinearQuantizationOptions& options,
                                 v1::ModelSpec::ArchitectureCase architecture)
    : architecture_(architecture),
      scales_norms_(options.smoothing.has_value()),
      scales_all_(options.awq.has_value()) {
  INLIER_CHECK(scales_norms_ + scales_all_ + options.rotation.has_value() <= 1);
  if (options.rotation) rotation_.emplace(*options.rotation);
}

void LinearTransform::SeeGain(const std::string& site, const at::Tensor& gain) {
  if (rotation_ && gain.dim() == 1) rotation_->SeeGain(site, gain);
}

void LinearTransform::SeeOffset(const std::string& site, const at::Tensor& offset) {
  if (rotation_) rotation_->SeeOffset(site, offset);
}

std::string LinearTransform::Reads(const std::string& site) const {
  const std::optional<LinearPlace> place = PlaceOf(site);
  return place ? place->reads : site;
}

bool LinearTransform::IsScaled(const std::string& site) const {
  if (!scales_norms_) return scales_all_;
  const std::optional<LinearPlace> place = PlaceOf(site);
  return place && place->source == LinearSource::kNorm;
}

const at::Tensor* LinearTransform::FactorsOf(const std::string& site) const {
  if (factors_.empty()) return nullptr;
  const auto found = factors_.find(Reads(site));
  return found == factors_.end() ? nullptr : &found->second;
}

at::Tensor LinearTransform::Rotated(RotationStep step, const std::string& site, const at::Tensor& tensor) {
  if (!rotation_) return tensor;
  const std::optional<LinearPlace> place = PlaceOf(site);
  return place ? ((*rotation_).*step)(*place, tensor) : tensor;
}

at::Tensor LinearTransform::Shifted(const std::string& site, const at::Tensor& y) const {
  const auto found = shifts_.find(site);
  return found == shifts_.end() ? y : y + found->second.to(y.scalar_type());
}

at::Tensor LinearTransform::Spread(const std::string& site, const at::Tensor& x) {
  const at::Tensor* const factors = FactorsOf(site);
  return factors == nullptr ? Rotated(&LinearRotation::Input, site, x) : x.div(*factors);
}

at::Tensor LinearTransform::Weight(const std::string& site, const at::Tensor& weight) {
  if (const at::Tensor shift = Rotated(&LinearRotation::Shift, site, weight);
      !shift.is_same(weight) && shift.defined())
    shifts_[site] = shift;
  const at::Tensor* const factors = FactorsOf(site);
  return factors == nullptr ? Rotated(&LinearRotation::Weight, site, weight) : weight.mul(*factors);
}

// x' = x A turns sum x^T x into A^T (sum x^T x) A, which is symmetric.
at::Tensor LinearTransform::InputMoments(const std::string& site, const at::Tensor& moments) {
  return Spread(site, Spread(site, moments).t());
}

}  // namespace inlier
