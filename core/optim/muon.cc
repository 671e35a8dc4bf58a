#include "core/optim/muon.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "core/optim/optimizer_state.h"
#include "core/optim/weight_axes.h"

namespace inlier {

at::Tensor Orthogonalised(const at::Tensor& matrix, int steps) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  const bool tall = matrix.size(0) > matrix.size(1);  // X X^T on the short side.
  at::Tensor x = tall ? matrix.t() : matrix;
  x = x / (x.norm() + 1e-7);
  for (int i = 0; i < steps; ++i) {
    const at::Tensor square = x.matmul(x.t());
    x = at::addmm(x, at::addmm(square, square, square, kB, kC), x, kA, 1);
  }
  return tall ? x.t() : x;
}

Muon::Muon(const ParameterGroups& matrices, const Options& options, std::unique_ptr<Optimizer> others)
    : options_(options), others_(std::move(others)) {
  for (ParameterList& list : MakeParameterLists(matrices, options.weight_decay)) {
    for (const at::Tensor& parameter : list.parameters) INLIER_CHECK(parameter.dim() == 2);
    Group group{.list = std::move(list), .momenta = {}};
    group.momenta = group.list.Zeros();
    groups_.push_back(std::move(group));
  }
}

at::Tensor Muon::Update(const std::string& name, const at::Tensor& matrix) const {
  const WeightAxes axes = AxesOf(name);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : matrix.chunk(axes.parts, axes.output.value_or(0))) {
    const double size = static_cast<double>(std::max(part.size(0), part.size(1)));
    parts.push_back(
        Orthogonalised(part, options_.newton_schulz_steps).mul(options_.update_scale * std::sqrt(size)));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, axes.output.value_or(0));
}

void Muon::Step(double learning_rate) {
  c10::NoGradGuard no_grad;
  for (Group& group : groups_) {
    const std::vector<at::Tensor> gradients = group.list.Gradients();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      at::Tensor& momentum = group.momenta[i].mul_(options_.momentum).add_(gradients[i]);
      const at::Tensor update = Update(
          group.list.names[i], options_.nesterov ? gradients[i].add(momentum, options_.momentum) : momentum);
      at::Tensor& parameter = group.list.parameters[i];
      if (group.list.weight_decay > 0) parameter.mul_(1 - learning_rate * group.list.weight_decay);
      parameter.add_(update, -learning_rate);
    }
  }
  if (others_ != nullptr) others_->Step(learning_rate);
}

std::vector<NamedParameter> Muon::State() const {
  std::vector<NamedParameter> state;
  if (others_ != nullptr) state = others_->State();
  for (const Group& group : groups_) AppendState("momentum", group.list.names, group.momenta, state);
  return state;
}

}  // namespace inlier
