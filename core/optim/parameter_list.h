// The parameters of one group as parallel lists, the form of LibTorch's fused and foreach kernels: one call
// updates all of them.
#ifndef INLIER_CORE_OPTIM_PARAMETER_LIST_H_
#define INLIER_CORE_OPTIM_PARAMETER_LIST_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "core/optim/parameter_groups.h"

namespace inlier {

struct ParameterList {
  double weight_decay;
  std::vector<std::string> names;
  std::vector<at::Tensor> owners;      // The model's tensors, which carry the gradients.
  std::vector<at::Tensor> parameters;  // The same storage outside autograd.

  // The gradients themselves, not copies.  REQUIRES: every parameter has one.
  std::vector<at::Tensor> Gradients() const;
  // As Gradients, with weight_decay * p added where weight_decay is not 0 (then copies).
  std::vector<at::Tensor> GradientsWithPenalty() const;
  // A zero tensor for each parameter, the initial moments of an optimizer.
  std::vector<at::Tensor> Zeros() const;
};

// One list for each group that is not empty: the decayed ones with `weight_decay`, the others with 0.
std::vector<ParameterList> MakeParameterLists(const ParameterGroups& groups, double weight_decay);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_PARAMETER_LIST_H_
