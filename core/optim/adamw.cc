#include "core/optim/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr char kUpdates[] = "updates";
constexpr char kFirstMoment[] = "first_moment/";
constexpr char kSecondMoment[] = "second_moment/";

std::string ShapeText(const at::Tensor& tensor) {
  std::string text = "(";
  for (std::int64_t i = 0; i < tensor.dim(); ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", tensor.size(i));
  return text + ")";
}

absl::Status CopyState(const std::map<std::string, at::Tensor>& state, const std::string& name,
                       const at::Tensor& target) {
  const auto found = state.find(name);
  if (found == state.end())
    return absl::NotFoundError(absl::StrCat("the optimizer's state lacks the tensor ", name));
  if (found->second.sizes() != target.sizes()) {
    return absl::InvalidArgumentError(absl::StrCat("the optimizer's tensor ", name, " has shape ",
                                                   ShapeText(found->second), " where the model needs ",
                                                   ShapeText(target)));
  }
  target.copy_(found->second);
  return absl::OkStatus();
}

}  // namespace

AdamW::AdamW(const ParameterGroups& groups, const Options& options) : options_(options) {
  INLIER_CHECK(!groups.decayed.empty() || !groups.not_decayed.empty());
  const at::Tensor& first =
      groups.decayed.empty() ? groups.not_decayed.front().second : groups.decayed.front().second;
  updates_ = at::zeros({}, first.options().dtype(at::kFloat).requires_grad(false));
  const auto add_group = [this](const std::vector<NamedParameter>& parameters, double weight_decay) {
    if (parameters.empty()) return;
    Group group;
    group.weight_decay = weight_decay;
    for (const auto& [name, parameter] : parameters) {
      group.names.push_back(name);
      group.parameters.push_back(parameter.detach());  // Shares the storage; updates need no autograd.
      group.first_moments.push_back(at::zeros_like(group.parameters.back()));
      group.second_moments.push_back(at::zeros_like(group.parameters.back()));
      group.updates.push_back(updates_);
      group.owners.push_back(parameter);
    }
    groups_.push_back(std::move(group));
  };
  add_group(groups.decayed, options.weight_decay);
  add_group(groups.not_decayed, 0.0);
}

void AdamW::Step(double learning_rate) {
  c10::NoGradGuard no_grad;
  updates_.add_(1);
  for (Group& group : groups_) {
    std::vector<at::Tensor> gradients;
    gradients.reserve(group.owners.size());
    for (const at::Tensor& owner : group.owners) {
      INLIER_CHECK(owner.grad().defined());
      gradients.push_back(owner.grad());
    }
    at::_fused_adamw_(group.parameters, gradients, group.first_moments, group.second_moments,
                      /*max_exp_avg_sqs=*/{}, group.updates, learning_rate, options_.beta1, options_.beta2,
                      group.weight_decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}

std::vector<NamedParameter> AdamW::State() const {
  std::vector<NamedParameter> state = {{kUpdates, updates_}};
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      state.emplace_back(kFirstMoment + group.names[i], group.first_moments[i]);
      state.emplace_back(kSecondMoment + group.names[i], group.second_moments[i]);
    }
  }
  return state;
}

absl::Status AdamW::LoadState(const std::map<std::string, at::Tensor>& state) {
  c10::NoGradGuard no_grad;
  for (const auto& [name, target] : State()) RETURN_IF_ERROR(CopyState(state, name, target));
  return absl::OkStatus();
}

}  // namespace inlier
