#include "core/optim/adam.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "base/check.h"
#include "core/optim/optimizer_state.h"

namespace inlier {

Adam::Adam(const ParameterGroups& groups, const Options& options) : options_(options) {
  for (ParameterList& list : MakeParameterLists(groups, options.weight_decay)) {
    if (!updates_.defined())
      updates_ = at::zeros({}, list.parameters.front().options().dtype(at::kFloat).requires_grad(false));
    Group group{.list = std::move(list), .first_moments = {}, .second_moments = {}, .updates = {}};
    group.first_moments = group.list.Zeros();
    group.second_moments = group.list.Zeros();
    group.updates.assign(group.list.names.size(), updates_);
    groups_.push_back(std::move(group));
  }
}

void Adam::Step(double learning_rate) {
  c10::NoGradGuard no_grad;
  updates_.add_(1);
  for (Group& group : groups_) {
    const std::vector<at::Tensor> gradients = group.list.Gradients();
    switch (options_.decay) {
      case Decay::kDecoupled:
        at::_fused_adamw_(group.list.parameters, gradients, group.first_moments, group.second_moments,
                          /*max_exp_avg_sqs=*/{}, group.updates, learning_rate, options_.beta1,
                          options_.beta2, group.list.weight_decay, options_.epsilon, /*amsgrad=*/false,
                          /*maximize=*/false);
        break;
      case Decay::kPenalty:
        at::_fused_adam_(group.list.parameters, gradients, group.first_moments, group.second_moments,
                         /*max_exp_avg_sqs=*/{}, group.updates, learning_rate, options_.beta1, options_.beta2,
                         group.list.weight_decay, options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
        break;
    }
  }
}

std::vector<NamedParameter> Adam::State() const {
  std::vector<NamedParameter> state = {{"updates", updates_}};
  for (const Group& group : groups_) {
    AppendState("first_moment", group.list.names, group.first_moments, state);
    AppendState("second_moment", group.list.names, group.second_moments, state);
  }
  return state;
}

absl::Status Adam::LoadState(const std::map<std::string, at::Tensor>& state) {
  return CopyState(state, State());
}

}  // namespace inlier
