#include "core/optim/soap.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/optim/weight_axes.h"

namespace inlier {

at::Tensor Soap::Matrix::Project(const at::Tensor& x) const {
  at::Tensor y = sides[0].basis.defined() ? sides[0].basis.t().matmul(x) : x;
  return sides[1].basis.defined() ? y.matmul(sides[1].basis) : y;
}

at::Tensor Soap::Matrix::ProjectBack(const at::Tensor& x) const {
  at::Tensor y = sides[0].basis.defined() ? sides[0].basis.matmul(x) : x;
  return sides[1].basis.defined() ? y.matmul(sides[1].basis.t()) : y;
}

Soap::Soap(const ParameterGroups& matrices, const Options& options, std::unique_ptr<Optimizer> others)
    : options_(options), updates_(at::zeros({1}, at::kDouble)), others_(std::move(others)) {
  for (ParameterList& list : MakeParameterLists(matrices, options.weight_decay)) {
    Group group{.list = std::move(list), .matrices = {}};
    for (std::size_t i = 0; i < group.list.names.size(); ++i)
      group.matrices.push_back(Make(group.list.names[i], group.list.parameters[i]));
    groups_.push_back(std::move(group));
  }
}

Soap::Matrix Soap::Make(const std::string& name, const at::Tensor& parameter) const {
  INLIER_CHECK(parameter.dim() == 2);
  const WeightAxes axes = AxesOf(name);
  Matrix matrix{
      .first_moment = at::zeros_like(parameter), .second_moment = at::zeros_like(parameter), .sides = {}};
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const std::int64_t size = parameter.size(axis);
    if (size < 2 || size > options_.max_size || (axis != axes.input && !axes.output)) continue;
    matrix.sides[axis] = {.preconditioner = at::zeros({size, size}, parameter.options()),
                          .basis = at::eye(size, parameter.options())};
  }
  return matrix;
}

void Soap::AddToPreconditioners(Matrix& matrix, const at::Tensor& gradient) const {
  const double weight = 1 - options_.shampoo_beta;
  const auto add = [&](Side& side, const at::Tensor& factor) {
    if (side.basis.defined()) side.preconditioner.lerp_(factor.matmul(factor.t()), weight);
  };
  add(matrix.sides[0], gradient);
  add(matrix.sides[1], gradient.t());
}

void Soap::StartBases(Matrix& matrix) {
  for (Side& side : matrix.sides) {
    if (!side.basis.defined()) continue;
    // A gradient that is not finite has no eigenvectors; the training ends as diverged.
    if (!side.preconditioner.isfinite().all().item<bool>()) continue;
    const at::Tensor vectors = std::get<1>(at::linalg_eigh(side.preconditioner.to(at::kDouble)));
    side.basis.copy_(vectors.flip(1));
  }
}

void Soap::RefreshBases(Matrix& matrix) {
  const at::Tensor first_moment = matrix.ProjectBack(matrix.first_moment);
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    Side& side = matrix.sides[axis];
    if (!side.basis.defined()) continue;
    const at::Tensor sizes = side.basis.mul(side.preconditioner.matmul(side.basis)).sum(0);
    const at::Tensor order = sizes.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
    matrix.second_moment.copy_(matrix.second_moment.index_select(axis, order));
    side.basis.copy_(
        std::get<0>(at::linalg_qr(side.preconditioner.matmul(side.basis.index_select(1, order)))));
  }
  matrix.first_moment.copy_(matrix.Project(first_moment));
}

void Soap::Update(Matrix& matrix, const at::Tensor& gradient, std::int64_t t, double learning_rate,
                  double weight_decay, at::Tensor& parameter) const {
  const at::Tensor projected = matrix.Project(gradient);
  matrix.first_moment.mul_(options_.beta1).add_(projected, 1 - options_.beta1);
  matrix.second_moment.mul_(options_.beta2).addcmul_(projected, projected, 1 - options_.beta2);
  const double steps = static_cast<double>(t);
  const double rate =
      learning_rate * std::sqrt(1 - std::pow(options_.beta2, steps)) / (1 - std::pow(options_.beta1, steps));
  const at::Tensor update = matrix.first_moment.div(matrix.second_moment.sqrt().add_(options_.epsilon));
  parameter.add_(matrix.ProjectBack(update), -rate);
  if (weight_decay > 0) parameter.mul_(1 - learning_rate * weight_decay);
}

void Soap::Step(double learning_rate) {
  c10::NoGradGuard no_grad;
  updates_.add_(1);
  const std::int64_t t = static_cast<std::int64_t>(updates_.item<double>()) - 1;
  for (Group& group : groups_) {
    const std::vector<at::Tensor> gradients = group.list.Gradients();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      Matrix& matrix = group.matrices[i];
      if (t > 0)
        Update(matrix, gradients[i], t, learning_rate, group.list.weight_decay, group.list.parameters[i]);
      AddToPreconditioners(matrix, gradients[i]);
      if (t == 0) StartBases(matrix);
      if (t > 0 && t % options_.refresh_every == 0) RefreshBases(matrix);
    }
  }
  if (others_ != nullptr) others_->Step(learning_rate);
}

std::vector<NamedParameter> Soap::State() const {
  std::vector<NamedParameter> state;
  if (others_ != nullptr) state = others_->State();
  state.emplace_back("soap_updates", updates_);
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.matrices.size(); ++i) {
      const Matrix& matrix = group.matrices[i];
      const std::string& name = group.list.names[i];
      state.emplace_back(absl::StrCat("soap_first_moment/", name), matrix.first_moment);
      state.emplace_back(absl::StrCat("soap_second_moment/", name), matrix.second_moment);
      for (int axis = 0; axis < 2; ++axis) {
        if (!matrix.sides[axis].basis.defined()) continue;
        state.emplace_back(absl::StrCat("preconditioner_", axis, "/", name),
                           matrix.sides[axis].preconditioner);
        state.emplace_back(absl::StrCat("basis_", axis, "/", name), matrix.sides[axis].basis);
      }
    }
  }
  return state;
}

}  // namespace inlier
