// OrthoAdam (Kaul et al. 2025, algorithm 1): AdamW whose moments are kept in a fixed orthogonal basis of each
// rotated parameter, so that no channel is special to it.
//
//   p <- p (1 - lr wd);  G = rotated g;  U = Adam's update of G, its moments too in the rotated basis;
//   p <- p - lr (U rotated back)
//
// Parameters without a rotation have AdamW's updates. Clipping acts on the gradients before, as for every
// optimizer; it commutes with a rotation.
#ifndef INLIER_CORE_OPTIM_ORTHO_ADAM_H_
#define INLIER_CORE_OPTIM_ORTHO_ADAM_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/optim/adam.h"
#include "core/optim/rotation.h"

namespace inlier {

class OrthoAdam : public Optimizer {
 public:
  using Options = Adam::Options;  // With decoupled decay.

  // `rotations` by parameter's name, of any type and on any device; an unknown name is an error.
  OrthoAdam(const ParameterGroups& groups, const Options& options,
            const std::map<std::string, Rotation>& rotations);

  void Step(double learning_rate) override;
  // Adam's, with the moments in the rotated bases, and "rotation_checksum/<name>" of every rotated parameter.
  std::vector<NamedParameter> State() const override;
  // Also InvalidArgument where `state` was kept in another basis.
  absl::Status LoadState(const std::map<std::string, at::Tensor>& state) override;

 private:
  // Rotated parameters that share a weight decay.
  struct Group {
    ParameterList list;
    std::vector<Rotation> rotations;  // In the parameters' type, on their device.
    // Adam's parameters in place of the list's: zero before an update, minus the rotated update after it.
    std::vector<at::Tensor> steps;
  };

  std::vector<Group> rotated_;
  std::map<std::string, at::Tensor> checksums_;  // As in State.
  std::unique_ptr<Adam> adam_;                   // Of the parameters without a rotation, and of all steps.
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_ORTHO_ADAM_H_
