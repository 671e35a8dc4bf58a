// Muon (Jordan et al. 2024): the momentum of a matrix, made nearly orthogonal, so that all of its directions move alike.
//
//   B <- mu B + G;   X = O(G + mu B) with Nesterov, else O(B)
//   p <- p (1 - lr wd) - lr s sqrt(max(out, in)) X
//
//   O(M): X_0 = M / (|M|_F + 1e-7), then `steps` times
//         X <- a X + b (X X^T) X + c (X X^T)^2 X,   a = 3.4445, b = -4.7750, c = 2.0315
//
// The iteration brings the singular values of M into about 0.7 to 1.2 and keeps its singular vectors. With s = 0.2 an
// update has about the root mean square of AdamW's (Liu et al. 2025), so that AdamW's rates and decay serve. A weight
// that holds several matrices (WeightAxes::parts) is treated as those. Products are in the parameters' precision; the
// authors' are in bfloat16.
#ifndef INLIER_CORE_OPTIM_MUON_H_
#define INLIER_CORE_OPTIM_MUON_H_

#include <memory>
#include <string>
#include <vector>

#include "core/optim/optimizer.h"
#include "core/optim/parameter_list.h"

namespace inlier {

// O(matrix) for a matrix of any shape.
at::Tensor Orthogonalised(const at::Tensor& matrix, int steps);

class Muon : public Optimizer {
 public:
  struct Options {
    double momentum;  // mu
    bool nesterov;
    int newton_schulz_steps;
    double update_scale;  // s
    double weight_decay;  // Of the decayed group.
  };

  // `others` updates all other parameters at the same rate; null: there are none.  REQUIRES: matrices are 2-D.
  Muon(const ParameterGroups& matrices, const Options& options, std::unique_ptr<Optimizer> others);

  void Step(double learning_rate) override;
  // "momentum/<name>", and those of the others.
  std::vector<NamedParameter> State() const override;

 private:
  struct Group {
    ParameterList list;
    std::vector<at::Tensor> momenta;
  };

  // lr s sqrt(max(out, in)) X over lr.
  at::Tensor Update(const std::string& name, const at::Tensor& matrix) const;

  const Options options_;
  std::vector<Group> groups_;
  const std::unique_ptr<Optimizer> others_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_MUON_H_
