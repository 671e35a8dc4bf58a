#include "core/optim/adam.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/layer_cpu/parallel.h"
#include "core/optim/optimizer_state.h"

namespace inlier {

Adam::Adam(const ParameterGroups& groups, const Options& options) : options_(options) {
  INLIER_CHECK(!groups.decayed.empty() || !groups.not_decayed.empty());
  for (ParameterList& list : MakeParameterLists(groups, options.weight_decay)) {
    if (!updates_.defined()) {
      numbers_ = at::ones({3}, list.parameters.front().options().dtype(at::kFloat).requires_grad(false));
      updates_ = numbers_[1].zero_();
    }
    Group group{.list = std::move(list), .first_moments = {}, .second_moments = {}, .updates = {}};
    group.first_moments = group.list.Zeros();
    group.second_moments = group.list.Zeros();
    group.updates.assign(group.list.names.size(), updates_);
    groups_.push_back(std::move(group));
  }
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.list.parameters.size(); ++i) {
      items_.push_back({.parameter = group.list.parameters[i],
                        .gradient = {},
                        .first_moment = group.first_moments[i],
                        .second_moment = group.second_moments[i],
                        .weight_decay = group.list.weight_decay});
    }
  }
  if (!std::all_of(items_.begin(), items_.end(), layer::gpu::TakesAdam)) items_.clear();
}

void Adam::Step(double learning_rate) {
  c10::NoGradGuard no_grad;
  updates_.add_(1);
  if (!items_.empty()) return StepOnDevice(learning_rate);
  const layer::cpu::LoopThreadsGuard guard;  // Each element by itself.
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

void Adam::StepOnDevice(double learning_rate) {
  numbers_[0].fill_(learning_rate);
  std::vector<layer::gpu::AdamItem> items = items_;
  auto item = items.begin();
  for (const Group& group : groups_) {
    for (const at::Tensor& gradient : group.list.Gradients()) (item++)->gradient = gradient;
  }
  layer::gpu::AdamStep({.beta1 = options_.beta1,
                        .beta2 = options_.beta2,
                        .epsilon = options_.epsilon,
                        .decoupled = options_.decay == Decay::kDecoupled},
                       items, numbers_, stretches_);
}

std::vector<NamedParameter> Adam::State() const {
  std::vector<NamedParameter> state = {{"updates", updates_}};
  for (const Group& group : groups_) {
    AppendState("first_moment", group.list.names, group.first_moments, state);
    AppendState("second_moment", group.list.names, group.second_moments, state);
  }
  return state;
}

}  // namespace inlier
