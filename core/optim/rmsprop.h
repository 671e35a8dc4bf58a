// RMSProp (Tieleman and Hinton 2012), with momentum and centering as PyTorch has them.
//
//   g <- g + wd p;  v <- a v + (1 - a) g^2;  s = v, or v - c^2 with c <- a c + (1 - a) g when centered;
//   p <- p - lr g / (sqrt(s) + eps), or with momentum  b <- mu b + g / (sqrt(s) + eps);  p <- p - lr b
//
// Nothing is corrected for the zero start of v. wd is 0 for parameters that do not decay.
#ifndef INLIER_CORE_OPTIM_RMSPROP_H_
#define INLIER_CORE_OPTIM_RMSPROP_H_

#include <vector>

#include "core/optim/optimizer.h"
#include "core/optim/parameter_list.h"

namespace inlier {

class RmsProp : public Optimizer {
 public:
  struct Options {
    double alpha;
    double epsilon;
    double momentum;  // 0: none.
    bool centered;
    double weight_decay;  // Of the decayed group.
  };

  RmsProp(const ParameterGroups& groups, const Options& options);

  void Step(double learning_rate) override;
  // "second_moment/<name>"; "mean_gradient/<name>" when centered; "momentum/<name>" with momentum.
  std::vector<NamedParameter> State() const override;

 private:
  struct Group {
    ParameterList list;
    std::vector<at::Tensor> second_moments;
    std::vector<at::Tensor> mean_gradients;  // Empty unless centered.
    std::vector<at::Tensor> momenta;         // Empty without momentum.
  };

  Options options_;
  std::vector<Group> groups_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_RMSPROP_H_
