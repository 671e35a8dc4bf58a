// SOAP (Vyas et al. 2024, algorithm 3): Adam in the eigenbasis of Shampoo's preconditioners. Of a matrix with gradient G,
// an axis without a basis having Q = 1:
//
//   G' = Q_L^T G Q_R;   m <- b1 m + (1 - b1) G';   v <- b2 v + (1 - b2) G'^2
//   p <- p - lr sqrt(1 - b2^t) / (1 - b1^t) Q_L (m / (sqrt(v) + eps)) Q_R^T;   p <- p (1 - lr wd)
//   L <- bs L + (1 - bs) G G^T;   R <- bs R + (1 - bs) G^T G
//   every `refresh_every` updates: columns of Q in descending order of diag(Q^T L Q), v with them, then Q <- QR(L Q);
//   m is taken into the new basis
//
// The first update of a matrix starts L, R and, by their eigenvectors, the bases, and moves nothing; t counts from the
// second. All of this, the place of eps and the decay too, is as in the authors' code.
//
// The rows of tables (WeightAxes without an output) and axes longer than max_size have no basis.
#ifndef INLIER_CORE_OPTIM_SOAP_H_
#define INLIER_CORE_OPTIM_SOAP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/optim/optimizer.h"
#include "core/optim/parameter_list.h"

namespace inlier {

class Soap : public Optimizer {
 public:
  struct Options {
    double beta1;
    double beta2;
    double shampoo_beta;  // bs
    double epsilon;
    double weight_decay;  // Of the decayed group.
    std::int64_t refresh_every;
    std::int64_t max_size;
  };

  // `others` updates all other parameters at the same rate; null: there are none.  REQUIRES: matrices are 2-D.
  Soap(const ParameterGroups& matrices, const Options& options, std::unique_ptr<Optimizer> others);

  void Step(double learning_rate) override;
  // "soap_updates" (one number), for each matrix "soap_first_moment/<name>" and "soap_second_moment/<name>" in its bases, and
  // "preconditioner_0/<name>", "basis_0/<name>" and those of axis 1 where the axis has a basis; and those of the others.
  std::vector<NamedParameter> State() const override;

 private:
  struct Side {
    at::Tensor preconditioner;
    at::Tensor basis;
  };
  struct Matrix {
    at::Tensor first_moment, second_moment;
    Side sides[2];

    at::Tensor Project(const at::Tensor& x) const;
    at::Tensor ProjectBack(const at::Tensor& x) const;
  };
  struct Group {
    ParameterList list;
    std::vector<Matrix> matrices;
  };

  Matrix Make(const std::string& name, const at::Tensor& parameter) const;
  void Update(Matrix& matrix, const at::Tensor& gradient, std::int64_t t, double learning_rate,
              double weight_decay, at::Tensor& parameter) const;
  void AddToPreconditioners(Matrix& matrix, const at::Tensor& gradient) const;
  static void StartBases(Matrix& matrix);
  static void RefreshBases(Matrix& matrix);

  const Options options_;
  at::Tensor updates_;  // float64, on the CPU.
  std::vector<Group> groups_;
  const std::unique_ptr<Optimizer> others_;
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_SOAP_H_
