// Stochastic gradient descent, with or without (Nesterov) momentum as PyTorch has it; one fused pass a group.
//
//   g <- g + wd p;  b <- mu b + g;  p <- p - lr d,  d = b, or g + mu b (Nesterov), or g without momentum
//
// The buffer b is the first gradient after the first update. wd is 0 for parameters that do not decay.
#ifndef INLIER_CORE_OPTIM_SGD_H_
#define INLIER_CORE_OPTIM_SGD_H_

#include <vector>

#include "core/optim/optimizer.h"
#include "core/optim/parameter_list.h"

namespace inlier {

class Sgd : public Optimizer {
 public:
  struct Options {
    double momentum;  // 0: none.
    bool nesterov;
    double weight_decay;  // Of the decayed group.
  };

  Sgd(const ParameterGroups& groups, const Options& options);

  void Step(double learning_rate) override;
  // "momentum/<name>"; nothing without momentum.
  std::vector<NamedParameter> State() const override;

 private:
  struct Group {
    ParameterList list;
    std::vector<at::Tensor> momenta;  // Empty without momentum.
  };

  Options options_;
  std::vector<Group> groups_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_SGD_H_
