// evaluation.intervention: a tap that changes what a trained model computes.
//
//   massive activations   x of a layer's output (B, T, d) with |x| > threshold and |x| > ratio * median_j |x_j| of its token: 0, or
//                         the mean of the feature's massive values in the batch. (Sun et al. 2024, sections 2 and 3)
//   first key             p_t0 = 0 for every query t but the first; RENORMALIZED: the others times (sum_j p_tj) / (sum_j>0 p_tj)
//   values                every v times the scale
//   heads                 p = 0 of a head that is off, so that its context is 0
//
// To be chained before a quantization, which then rounds the changed tensors; nothing is written to the model.
#ifndef INLIER_CORE_TRAIN_INTERVENTION_H_
#define INLIER_CORE_TRAIN_INTERVENTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/nn/activation_tap.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/trial/head_list.h"

namespace inlier {

class Intervention : public ActivationTap {
 public:
  // Of a model of `architecture`. InvalidArgument for a list of heads that is none.
  static absl::StatusOr<Intervention> Create(const v1::InterventionSpec& spec,
                                             v1::ModelSpec::ArchitectureCase architecture);

  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override;

  // After a pass: InvalidArgument where a head that is to be off was not there.
  absl::Status CheckHeads() const;

 private:
  Intervention(const v1::InterventionSpec& spec, v1::ModelSpec::ArchitectureCase architecture,
               HeadList heads);

  at::Tensor WithoutMassive(const at::Tensor& x) const;
  // p: (B, H, T, K).
  at::Tensor Weights(std::uint32_t layer, const at::Tensor& p);

  v1::InterventionSpec spec_;
  v1::ModelSpec::ArchitectureCase architecture_;
  HeadList heads_, missing_;  // That are off; those of them that no pass had.
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_INTERVENTION_H_
