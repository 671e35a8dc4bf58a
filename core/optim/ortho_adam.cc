#include "core/optim/ortho_adam.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_zero.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {
namespace {

constexpr char kChecksum[] = "rotation_checksum/";
// Between rounding errors of a checksum (about 1e-12) and the difference of another matrix (about 1).
constexpr double kChecksumTolerance = 1e-6;

absl::Status InAnotherBasis(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the optimizer's state is in another basis than the one made here (", name,
      " differs): side, kind, block, max_size or rotation_seed of ortho_adam have changed, or this "
      "build draws other matrices"));
}

}  // namespace

OrthoAdam::OrthoAdam(const ParameterGroups& groups, const Options& options,
                     const std::map<std::string, Rotation>& rotations) {
  ParameterGroups turned, adams;
  const auto sort = [&rotations](const std::vector<NamedParameter>& from,
                                 std::vector<NamedParameter>& rotated, std::vector<NamedParameter>& plain) {
    for (const NamedParameter& parameter : from)
      (rotations.contains(parameter.first) ? rotated : plain).push_back(parameter);
  };
  sort(groups.decayed, turned.decayed, adams.decayed);
  sort(groups.not_decayed, turned.not_decayed, adams.not_decayed);
  INLIER_CHECK(turned.decayed.size() + turned.not_decayed.size() == rotations.size());
  for (ParameterList& list : MakeParameterLists(turned, options.weight_decay)) {
    Group group{.list = std::move(list), .rotations = {}, .steps = {}};
    group.steps = group.list.Zeros();
    for (std::size_t i = 0; i < group.list.names.size(); ++i) {
      const std::string& name = group.list.names[i];
      const Rotation& rotation = rotations.at(name);
      group.rotations.push_back(rotation.To(group.list.parameters[i]));
      checksums_.emplace(kChecksum + name, rotation.Checksum());
      adams.not_decayed.emplace_back(name, group.steps[i]);  // The decay acts in the original basis.
    }
    rotated_.push_back(std::move(group));
  }
  adam_ = std::make_unique<Adam>(adams, options);
}

void OrthoAdam::Step(double learning_rate) {
  c10::NoGradGuard no_grad;
  for (Group& group : rotated_) {
    const std::vector<at::Tensor> gradients = group.list.Gradients();
    for (std::size_t i = 0; i < gradients.size(); ++i)
      group.steps[i].mutable_grad() = group.rotations[i].Apply(gradients[i]);
    at::_foreach_zero_(group.steps);
  }
  adam_->Step(learning_rate);
  for (Group& group : rotated_) {
    std::vector<at::Tensor> steps;
    steps.reserve(group.steps.size());
    for (std::size_t i = 0; i < group.steps.size(); ++i) {
      steps.push_back(group.rotations[i].ApplyInverse(group.steps[i]));
      group.steps[i].mutable_grad().reset();
    }
    if (group.list.weight_decay > 0)
      at::_foreach_mul_(group.list.parameters, 1 - learning_rate * group.list.weight_decay);
    at::_foreach_add_(group.list.parameters, steps);
  }
}

std::vector<NamedParameter> OrthoAdam::State() const {
  std::vector<NamedParameter> state = adam_->State();
  state.insert(state.end(), checksums_.begin(), checksums_.end());
  return state;
}

absl::Status OrthoAdam::LoadState(const std::map<std::string, at::Tensor>& state) {
  for (const auto& [name, kept] : state) {
    if (absl::StartsWith(name, kChecksum) && !checksums_.contains(name)) return InAnotherBasis(name);
  }
  for (const auto& [name, own] : checksums_) {
    const auto kept = state.find(name);
    if (kept == state.end() || kept->second.sizes() != own.sizes() ||
        !own.allclose(kept->second.to(own.options()), /*rtol=*/0, kChecksumTolerance)) {
      return InAnotherBasis(name);
    }
  }
  return adam_->LoadState(state);
}

}  // namespace inlier
