#include "core/optim/rmsprop.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "base/check.h"
#include "core/optim/optimizer_state.h"

namespace inlier {

RmsProp::RmsProp(const ParameterGroups& groups, const Options& options) : options_(options) {
  INLIER_CHECK(!groups.decayed.empty() || !groups.not_decayed.empty());
  for (ParameterList& list : MakeParameterLists(groups, options.weight_decay)) {
    Group group{.list = std::move(list), .second_moments = {}, .mean_gradients = {}, .momenta = {}};
    group.second_moments = group.list.Zeros();
    if (options.centered) group.mean_gradients = group.list.Zeros();
    if (options.momentum > 0) group.momenta = group.list.Zeros();
    groups_.push_back(std::move(group));
  }
}

void RmsProp::Step(double learning_rate) {
  c10::NoGradGuard no_grad;
  for (Group& group : groups_) {
    const std::vector<at::Tensor> gradients = group.list.GradientsWithPenalty();
    at::_foreach_mul_(group.second_moments, options_.alpha);
    at::_foreach_addcmul_(group.second_moments, gradients, gradients, 1 - options_.alpha);
    std::vector<at::Tensor> scales;
    if (options_.centered) {
      at::_foreach_lerp_(group.mean_gradients, gradients, 1 - options_.alpha);
      scales = at::_foreach_addcmul(group.second_moments, group.mean_gradients, group.mean_gradients,
                                    /*value=*/-1);
      // A gradient that stays the same has variance 0, which rounding can make negative.
      at::_foreach_clamp_min_(scales, 0);
      at::_foreach_sqrt_(scales);
    } else {
      scales = at::_foreach_sqrt(group.second_moments);
    }
    at::_foreach_add_(scales, options_.epsilon);
    if (options_.momentum > 0) {
      at::_foreach_mul_(group.momenta, options_.momentum);
      at::_foreach_addcdiv_(group.momenta, gradients, scales);
      at::_foreach_add_(group.list.parameters, group.momenta, -learning_rate);
    } else {
      at::_foreach_addcdiv_(group.list.parameters, gradients, scales, -learning_rate);
    }
  }
}

std::vector<NamedParameter> RmsProp::State() const {
  std::vector<NamedParameter> state;
  for (const Group& group : groups_) {
    AppendState("second_moment", group.list.names, group.second_moments, state);
    if (options_.centered) AppendState("mean_gradient", group.list.names, group.mean_gradients, state);
    if (options_.momentum > 0) AppendState("momentum", group.list.names, group.momenta, state);
  }
  return state;
}

}  // namespace inlier
