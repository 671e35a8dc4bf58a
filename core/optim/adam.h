// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019): one fused pass over all parameters of a group, on a
// GPU over all parameters.
//
//   AdamW, kDecoupled:  p <- p (1 - lr wd)        Adam, kPenalty:  g <- g + wd p
//   then  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;
//         p <- p - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
//
// with t the number of updates, this one included, and wd 0 for parameters that do not decay.
#ifndef INLIER_CORE_OPTIM_ADAM_H_
#define INLIER_CORE_OPTIM_ADAM_H_

#include <vector>

#include "core/layer_cuda/adam.h"
#include "core/optim/optimizer.h"
#include "core/optim/parameter_list.h"

namespace inlier {

class Adam : public Optimizer {
 public:
  enum class Decay {
    kDecoupled,  // Weights shrink by themselves: AdamW.
    kPenalty,    // As if weight_decay / 2 * |p|^2 were added to the loss.
  };
  struct Options {
    double beta1;
    double beta2;
    double epsilon;
    double weight_decay;  // Of the decayed group.
    Decay decay = Decay::kDecoupled;
  };

  Adam(const ParameterGroups& groups, const Options& options);

  void Step(double learning_rate) override;
  // "first_moment/<name>", "second_moment/<name>" and "updates" (one number, float32).
  std::vector<NamedParameter> State() const override;

 private:
  struct Group {
    ParameterList list;
    std::vector<at::Tensor> first_moments, second_moments;
    std::vector<at::Tensor> updates;  // The same counter for each parameter, for the fused kernel.
  };

  void StepOnDevice(double learning_rate);

  Options options_;
  at::Tensor numbers_;  // The learning rate, t and 1, float32, on the parameters' device.
  at::Tensor updates_;  // The t of `numbers_`.
  std::vector<Group> groups_;
  // Of layer::gpu::AdamStep, where it takes all parameters; else empty. In the order of the groups, without gradients.
  std::vector<layer::gpu::AdamItem> items_;
  at::Tensor stretches_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_ADAM_H_
