// Turns gradients into updates of the parameters.
//
// An optimizer is made for a list of parameters and keeps handles to them (updates happen in place). It reads
// gradients from the tensors' grad(); a parameter without one is a programmer's error. Its state is a list of
// named tensors, for checkpoints.
#ifndef INLIER_CORE_OPTIM_OPTIMIZER_H_
#define INLIER_CORE_OPTIM_OPTIMIZER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/optim/parameter_groups.h"

namespace inlier {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update of every parameter at this rate. Does not change gradients.
  // REQUIRES: every parameter has a gradient.
  virtual void Step(double learning_rate) = 0;

  // Every tensor that the next Step depends on, other than parameters and gradients, as "<kind>/<parameter's
  // name>" (the tensors themselves, not copies); empty when there is none.
  virtual std::vector<NamedParameter> State() const = 0;

  // Copies `state` (a result of State) into the tensors of State(). NotFound or InvalidArgument with the tensor's name
  // where one is missing or of another shape; the optimizer is then partly loaded and must not be used.
  virtual absl::Status LoadState(const std::map<std::string, at::Tensor>& state);
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_OPTIMIZER_H_
