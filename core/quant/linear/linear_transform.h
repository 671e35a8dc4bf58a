// Changes of the inputs, weights and outputs of a model's linears before they are rounded: smoothing (smoothing.h) or a
// rotation (linear_rotation.h). Both change nothing where nothing is rounded.
//
// Smoothing is of linears that read the norm of an attention or of a feed-forward network, as in the paper: x / s and W * s,
// with one s for all linears that read the same tensor. Not together with a rotation, which divides a norm's output by its
// gain, g / s after smoothing, and so undoes it.
#ifndef INLIER_CORE_QUANT_LINEAR_LINEAR_TRANSFORM_H_
#define INLIER_CORE_QUANT_LINEAR_LINEAR_TRANSFORM_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <unordered_map>

#include "core/quant/linear/linear_options.h"
#include "core/quant/linear/linear_rotation.h"
#include "core/quant/linear/linear_sites.h"

namespace inlier {

class LinearTransform {
 public:
  // Of a model of `architecture`; without one every tensor stays as it is.
  LinearTransform(const LinearQuantizationOptions& options, v1::ModelSpec::ArchitectureCase architecture);

  // The gain of a norm; of each pass, before what reads the norm.
  void SeeGain(const std::string& site, const at::Tensor& gain);

  // The name of the tensor that the linear at `site` reads, the same for all that read it.
  std::string Reads(const std::string& site) const;
  // True when the input of `site` is to be smoothed: factors are needed.
  bool IsSmoothed(const std::string& site) const;
  // s (in) of all linears that read `reads`.
  void SetFactors(const std::string& reads, const at::Tensor& factors) { factors_[reads] = factors; }

  // Tensors as they are rounded; themselves where nothing is done to them. Without factors of its own a site that is to be
  // smoothed is as if it were not: during calibration.
  at::Tensor Input(const std::string& site, const at::Tensor& x);
  at::Tensor Weight(const std::string& site, const at::Tensor& weight);
  at::Tensor Output(const std::string& site, const at::Tensor& y) {
    return Rotated(&LinearRotation::Output, site, y);
  }
  // Such tensors as the model uses them.
  at::Tensor UsedWeight(const std::string& site, const at::Tensor& weight) {
    return Rotated(&LinearRotation::UsedWeight, site, weight);
  }
  at::Tensor UsedOutput(const std::string& site, const at::Tensor& y) {
    return Rotated(&LinearRotation::UsedOutput, site, y);
  }

  // The second moments, (in, in), of Input's result, from those of its argument.
  at::Tensor InputMoments(const std::string& site, const at::Tensor& moments);

 private:
  std::optional<LinearPlace> PlaceOf(const std::string& site) const {
    return FindLinearPlace(architecture_, site);
  }
  // s of the input of `site`; null where it is not smoothed, or has none yet.
  const at::Tensor* FactorsOf(const std::string& site) const;

  using RotationStep = at::Tensor (LinearRotation::*)(const LinearPlace& place, const at::Tensor& tensor);
  // `tensor` after `step`; itself without a rotation and of a linear that no table has.
  at::Tensor Rotated(RotationStep step, const std::string& site, const at::Tensor& tensor);

  const v1::ModelSpec::ArchitectureCase architecture_;
  const bool smooths_;
  std::optional<LinearRotation> rotation_;
  std::unordered_map<std::string, at::Tensor> factors_;  // By LinearPlace::reads.
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LINEAR_TRANSFORM_H_
