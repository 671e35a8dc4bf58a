#include "core/quant/linear/linear_transform.h"

#include <ATen/TensorOperators.h>

#include "base/check.h"

namespace inlier {

LinearTransform::LinearTransform(const LinearQuantizationOptions& options,
                                 v1::ModelSpec::ArchitectureCase architecture)
    : architecture_(architecture), smooths_(options.smoothing.has_value()) {
  INLIER_CHECK(!options.smoothing || !options.rotation);
  if (options.rotation) rotation_.emplace(*options.rotation);
}

void LinearTransform::SeeGain(const std::string& site, const at::Tensor& gain) {
  if (rotation_ && gain.dim() == 1) rotation_->SeeGain(site, gain);
}

std::string LinearTransform::Reads(const std::string& site) const {
  const std::optional<LinearPlace> place = PlaceOf(site);
  return place ? place->reads : site;
}

bool LinearTransform::IsSmoothed(const std::string& site) const {
  if (!smooths_) return false;
  const std::optional<LinearPlace> place = PlaceOf(site);
  return place && place->source == LinearSource::kNorm;
}

const at::Tensor* LinearTransform::FactorsOf(const std::string& site) const {
  if (!IsSmoothed(site)) return nullptr;
  const auto found = factors_.find(Reads(site));
  return found == factors_.end() ? nullptr : &found->second;
}

at::Tensor LinearTransform::Rotated(RotationStep step, const std::string& site, const at::Tensor& tensor) {
  if (!rotation_) return tensor;
  const std::optional<LinearPlace> place = PlaceOf(site);
  return place ? ((*rotation_).*step)(*place, tensor) : tensor;
}

at::Tensor LinearTransform::Input(const std::string& site, const at::Tensor& x) {
  const at::Tensor* const factors = FactorsOf(site);
  return factors == nullptr ? Rotated(&LinearRotation::Input, site, x) : x.div(*factors);
}

at::Tensor LinearTransform::Weight(const std::string& site, const at::Tensor& weight) {
  const at::Tensor* const factors = FactorsOf(site);
  return factors == nullptr ? Rotated(&LinearRotation::Weight, site, weight) : weight.mul(*factors);
}

// x' = x A turns sum x^T x into A^T (sum x^T x) A, which is symmetric.
at::Tensor LinearTransform::InputMoments(const std::string& site, const at::Tensor& moments) {
  return Input(site, Input(site, moments).t());
}

}  // namespace inlier
