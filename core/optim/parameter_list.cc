#include "core/optim/parameter_list.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "base/check.h"

namespace inlier {

std::vector<at::Tensor> ParameterList::Gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(owners.size());
  for (const at::Tensor& owner : owners) {
    INLIER_CHECK(owner.grad().defined());
    gradients.push_back(owner.grad());
  }
  return gradients;
}

std::vector<at::Tensor> ParameterList::GradientsWithPenalty() const {
  std::vector<at::Tensor> gradients = Gradients();
  return weight_decay == 0 ? gradients : at::_foreach_add(gradients, parameters, weight_decay);
}

std::vector<at::Tensor> ParameterList::Zeros() const {
  std::vector<at::Tensor> zeros;
  zeros.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) zeros.push_back(at::zeros_like(parameter));
  return zeros;
}

std::vector<ParameterList> MakeParameterLists(const ParameterGroups& groups, double weight_decay) {
  std::vector<ParameterList> lists;
  const auto add = [&lists](const std::vector<NamedParameter>& parameters, double decay) {
    if (parameters.empty()) return;
    ParameterList list{.weight_decay = decay, .names = {}, .owners = {}, .parameters = {}};
    for (const auto& [name, parameter] : parameters) {
      list.names.push_back(name);
      list.owners.push_back(parameter);
      list.parameters.push_back(parameter.detach());
    }
    lists.push_back(std::move(list));
  };
  add(groups.decayed, weight_decay);
  add(groups.not_decayed, 0.0);
  return lists;
}

}  // namespace inlier
