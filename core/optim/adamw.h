// Adam with decoupled weight decay (Loshchilov and Hutter 2019), one fused pass over all parameters on the
// CPU and on CUDA.
//
//   p <- p (1 - lr wd);  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  p <- p - lr (m / (1 - b1^t)) /
//   (sqrt(v / (1 - b2^t)) + eps)
//
// with t the number of updates, this one included, and wd 0 for parameters that do not decay.
#ifndef INLIER_CORE_OPTIM_ADAMW_H_
#define INLIER_CORE_OPTIM_ADAMW_H_

#include <vector>

#include "core/optim/optimizer.h"

namespace inlier {

class AdamW : public Optimizer {
 public:
  struct Options {
    double beta1;
    double beta2;
    double epsilon;
    double weight_decay;  // Of the decayed group.
  };

  AdamW(const ParameterGroups& groups, const Options& options);

  void Step(double learning_rate) override;
  // "first_moment/<name>", "second_moment/<name>" and "updates" (one number, float32).
  std::vector<NamedParameter> State() const override;
  absl::Status LoadState(const std::map<std::string, at::Tensor>& state) override;

 private:
  struct Group {
    double weight_decay;
    std::vector<std::string> names;
    std::vector<at::Tensor> owners;      // The model's tensors, which carry the gradients.
    std::vector<at::Tensor> parameters;  // The same storage outside autograd.
    std::vector<at::Tensor> first_moments, second_moments;
    std::vector<at::Tensor>
        updates;  // The one counter, once for each parameter, as the fused kernel wants it.
  };

  Options options_;
  at::Tensor updates_;  // t, float32, on the parameters' device.
  std::vector<Group> groups_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_ADAMW_H_
