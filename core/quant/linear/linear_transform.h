// Changes of the inputs, weights and outputs of a model's linears before they are rounded: smoothing (smoothing.h), AWQ's scales
// (awq.h) or a rotation (linear_rotation.h). They change nothing where nothing is rounded.
//
// Smoothing is of linears that read the norm of an attention or of a feed-forward network, as in the paper, AWQ of all that are
// rounded: x / s and W * s, with one s for all linears that read the same tensor. One of the three: a rotation divides a norm's
// output by its gain, g / s after smoothing, and so undoes it.
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
  // Its offset, where it has one; likewise.
  void SeeOffset(const std::string& site, const at::Tensor& offset);
  // Values (…, h) of the attention at `site`; likewise, before what reads its context.
  void SeeValues(const std::string& site, const at::Tensor& values) {
    if (rotation_) rotation_->SeeHeads(site, values.size(-1));
  }

  // Quantization's, of the same names.
  absl::Status Learn(const LossOfUpdate& loss_of) {
    return rotation_ ? rotation_->Learn(loss_of) : absl::OkStatus();
  }
  at::Tensor LearnedRotationOf(const std::string& site, const at::Tensor& values) {
    return rotation_ ? rotation_->LearnedRotationOf(site, values) : at::Tensor();
  }

  // The name of the tensor that the linear at `site` reads, the same for all that read it.
  std::string Reads(const std::string& site) const;
  // True when the input of `site` is to be divided by factors, which are needed.
  bool IsScaled(const std::string& site) const;
  // s (in) of all linears that read `reads`.
  void SetFactors(const std::string& reads, const at::Tensor& factors) { factors_[reads] = factors; }

  // Tensors as they are rounded; themselves where nothing is done to them, and during calibration, before there are factors.
  at::Tensor Input(const std::string& site, const at::Tensor& x) {
    return Spread(site, WithoutOffset(site, x));
  }
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

  // `y` (…, out), the product of Input's and Weight's results, with what the offset of a norm adds to it.
  at::Tensor Shifted(const std::string& site, const at::Tensor& y) const;

  // What second moments are taken of: `x` without the offset of its norm where it is rotated.
  at::Tensor WithoutOffset(const std::string& site, const at::Tensor& x) {
    return Rotated(&LinearRotation::WithoutOffset, site, x);
  }
  // The second moments, (in, in), of Input's result, from those of WithoutOffset's.
  at::Tensor InputMoments(const std::string& site, const at::Tensor& moments);

 private:
  std::optional<LinearPlace> PlaceOf(const std::string& site) const {
    return FindLinearPlace(architecture_, site);
  }
  // Input's result of `x` without its offset.
  at::Tensor Spread(const std::string& site, const at::Tensor& x);
  // s of the input of `site`; null where it has none.
  const at::Tensor* FactorsOf(const std::string& site) const;

  using RotationStep = at::Tensor (LinearRotation::*)(const LinearPlace& place, const at::Tensor& tensor);
  // `tensor` after `step`; itself without a rotation and of a linear that no table has.
  at::Tensor Rotated(RotationStep step, const std::string& site, const at::Tensor& tensor);

  const v1::ModelSpec::ArchitectureCase architecture_;
  const bool scales_norms_;
  const bool scales_all_;
  std::optional<LinearRotation> rotation_;
  std::unordered_map<std::string, at::Tensor> factors_;  // By LinearPlace::reads.
  std::unordered_map<std::string, at::Tensor> shifts_;   // (out), by site.
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LINEAR_TRANSFORM_H_
