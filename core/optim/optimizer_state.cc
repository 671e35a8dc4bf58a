#include "core/optim/optimizer_state.h"

#include <c10/core/GradMode.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "core/optim/optimizer.h"

namespace inlier {
namespace {

std::string ShapeText(const at::Tensor& tensor) {
  return absl::StrCat("(", absl::StrJoin(tensor.sizes(), ", "), ")");
}

}  // namespace

void AppendState(const std::string& what, const std::vector<std::string>& names,
                 const std::vector<at::Tensor>& tensors, std::vector<NamedParameter>& state) {
  INLIER_CHECK(names.size() == tensors.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    state.emplace_back(absl::StrCat(what, "/", names[i]), tensors[i]);
}

absl::Status Optimizer::LoadState(const std::map<std::string, at::Tensor>& state) {
  c10::NoGradGuard no_grad;
  for (const auto& [name, target] : State()) {
    const auto found = state.find(name);
    if (found == state.end())
      return absl::NotFoundError(absl::StrCat("the optimizer's state has no tensor ", name));
    if (found->second.sizes() != target.sizes()) {
      return absl::InvalidArgumentError(absl::StrCat("the optimizer's tensor ", name, " has shape ",
                                                     ShapeText(found->second), " where the model needs ",
                                                     ShapeText(target)));
    }
    target.copy_(found->second);
  }
  return absl::OkStatus();
}

}  // namespace inlier
