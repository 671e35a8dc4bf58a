#include "core/nn/parameter_scope.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <memory>

namespace inlier {

ParameterScope ParameterScope::Child(const std::string& path) const {
  ParameterScope scope = *this;
  std::size_t start = 0;
  while (start < path.size()) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    const std::string name = path.substr(start, end - start);
    const auto children = scope.module_->named_children();
    const std::shared_ptr<torch::nn::Module>* known = children.find(name);
    scope.module_ =
        (known != nullptr ? *known
                          : scope.module_->register_module(name, std::make_shared<torch::nn::Module>()))
            .get();
    scope.path_ = scope.Name(name);
    start = end + 1;
  }
  return scope;
}

at::Tensor ParameterScope::Create(const std::string& name, at::IntArrayRef shape) const {
  return module_->register_parameter(name, at::zeros(shape, at::kFloat));
}

}  // namespace inlier
