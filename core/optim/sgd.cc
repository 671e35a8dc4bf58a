#include "core/optim/sgd.h"

#include <ATen/ops/_fused_sgd.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "base/check.h"
#include "core/optim/optimizer_state.h"

namespace inlier {

Sgd::Sgd(const ParameterGroups& groups, const Options& options) : options_(options) {
  INLIER_CHECK(!groups.decayed.empty() || !groups.not_decayed.empty());
  for (ParameterList& list : MakeParameterLists(groups, options.weight_decay)) {
    Group group{.list = std::move(list), .momenta = {}};
    if (options.momentum > 0) group.momenta = group.list.Zeros();
    groups_.push_back(std::move(group));
  }
}

void Sgd::Step(double learning_rate) {
  c10::NoGradGuard no_grad;
  for (Group& group : groups_) {
    // With a buffer of zeros the first update equals that of is_first_step: b = mu 0 + g.
    at::_fused_sgd_(group.list.parameters, group.list.Gradients(), group.momenta, group.list.weight_decay,
                    options_.momentum, learning_rate, /*dampening=*/0.0, options_.nesterov,
                    /*maximize=*/false, /*is_first_step=*/false);
  }
}

std::vector<NamedParameter> Sgd::State() const {
  std::vector<NamedParameter> state;
  if (options_.momentum == 0) return state;
  for (const Group& group : groups_) AppendState("momentum", group.list.names, group.momenta, state);
  return state;
}

}  // namespace inlier
